"""How much of a token stream a vocabulary map covers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .vocab_map import VocabMap


@dataclass(frozen=True, slots=True)
class Coverage:
    """Tokens of a stream inside a map. `missing`: (target id, count) of the most frequent ones outside."""

    num_tokens: int
    num_covered: int
    missing: tuple[tuple[int, int], ...]

    @property
    def share(self) -> float:
        """Covered tokens / tokens; 1.0 for an empty stream."""
        return self.num_covered / self.num_tokens if self.num_tokens else 1.0


def coverage_of_counts(
    vocab_map: VocabMap, counts: NDArray[np.integer], *, num_missing: int = 20
) -> Coverage:
    """Coverage of a stream given by its counts [T] (see `build.count_tokens`)."""
    outside = np.array(counts, dtype=np.int64)
    outside[vocab_map.target_ids] = 0
    order = np.argsort(-outside, kind="stable")[:num_missing]
    missing = tuple((int(i), int(outside[i])) for i in order if outside[i])
    total = int(counts.sum())
    return Coverage(total, total - int(outside.sum()), missing)


def covered_mass(vocab_map: VocabMap, rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """[...] float64: the mass of probability rows [..., T] that lies on kept tokens, the ceiling of TLI."""
    mass: NDArray[np.float64] = rows[..., vocab_map.target_ids].sum(axis=-1, dtype=np.float64)
    return mass
