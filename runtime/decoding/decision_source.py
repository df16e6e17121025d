"""DecisionSource: the one place where the decoding loop decides at random."""

from __future__ import annotations

import secrets
from typing import NamedTuple, Protocol

from redraft._core.random import Purpose, uniform

from .law import Law


class DecisionKey(NamedTuple):
    """Names one decision of a request: no two decisions share a key."""

    position: int  # number of tokens emitted before the round
    offset: int  # position in the round
    purpose: Purpose


class DecisionSource(Protocol):
    """Answers every random question of the loop. Tests inject one that explores all answers."""

    def choose(self, law: Law, key: DecisionKey) -> int:
        """A target id drawn from `law`."""
        ...

    def accept(self, probability: float, key: DecisionKey) -> bool:
        """True with this probability."""
        ...


class RandomSource:
    """Counter-based decisions: a function of (seed, key) alone, with a resolution of 2**-32."""

    def __init__(self, seed: int | None = None) -> None:
        """`seed` in [0, 2**64); None draws a fresh one from the operating system."""
        self.seed = secrets.randbits(64) if seed is None else seed

    def choose(self, law: Law, key: DecisionKey) -> int:
        """The id at a uniform quantile of the law."""
        certain = law.certain_id
        return law.at(uniform(self.seed, *key)) if certain is None else certain

    def accept(self, probability: float, key: DecisionKey) -> bool:
        """Whether a uniform number in [0, 1) lies below `probability`."""
        return probability >= 1 or (probability > 0 and uniform(self.seed, *key) < probability)
