"""Comparing two outputs of one prompt: where they part, and how near a tie the target was there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .decoder import Decoder

NEAR_TIE = 1e-3
"""Two logits this close may change places with the width of a call."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first position at which two outputs differ.

    `margin`: the target's best logit there less the second best.
    """

    position: int  # in the output
    token_ids: tuple[int | None, int | None]  # None: this output had ended
    top_ids: tuple[int, int]
    margin: float

    @property
    def is_near_tie(self) -> bool:
        """Whether the margin is below 1e-3 and both outputs took one of the two best tokens."""
        return self.margin < NEAR_TIE and set(self.token_ids) == set(self.top_ids)

    def to_json(self) -> dict[str, Any]:
        """The report's object."""
        return {
            "position": self.position,
            "token_ids": list(self.token_ids),
            "top_ids": list(self.top_ids),
            "margin": self.margin,
            "near_tie": self.is_near_tie,
        }


def compare_runs(
    decoder: Decoder, prompt_ids: Sequence[int], first: Sequence[int], second: Sequence[int]
) -> Divergence | None:
    """The first divergence of two outputs of `prompt_ids`, None where they are equal.

    Runs the target once more over the common prefix; no request may be in progress on `decoder`.
    """
    pairs = enumerate(zip(first, second, strict=False))
    position = next((index for index, (one, other) in pairs if one != other), None)
    if position is None:
        if len(first) == len(second):
            return None
        position = min(len(first), len(second))
    decoder.target.rollback(0)
    row = decoder.target.extend([*prompt_ids, *first[:position]])[0, : decoder.num_tokens]
    best, second_best = (int(i) for i in np.argsort(-row, kind="stable")[:2])
    taken = tuple(run[position] if position < len(run) else None for run in (first, second))
    return Divergence(
        position, (taken[0], taken[1]), (best, second_best), float(row[best] - row[second_best])
    )
