"""The cells of the exactness test: warps over a tiny vocabulary, and how far each is enumerated."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tests.support.fake_engines import LogitsOf, random_table

from redraft.runtime.decoding import WarpParams
from redraft.runtime.decoding.warp import NO_PROBABILITY

NUM_ROWS = 4
PROMPT = (1, 3)
WARPS: dict[str, WarpParams] = {
    "temperature": WarpParams(temperature=0.7),
    "top-k": WarpParams(top_k=3),
    "top-p": WarpParams(top_p=0.75),
    "min-p": WarpParams(min_p=0.15),
    "temperature+top-k": WarpParams(temperature=1.6, top_k=2),
    "temperature+top-p": WarpParams(temperature=1.4, top_p=0.8),
    "temperature+min-p": WarpParams(temperature=0.6, min_p=0.1),
    "top-k+top-p": WarpParams(top_k=3, top_p=0.85),
    "top-k+min-p": WarpParams(top_k=3, min_p=0.2),
    "top-p+min-p": WarpParams(top_p=0.9, min_p=0.2),
}


def narrowed_table(table: LogitsOf, depth: int) -> LogitsOf:
    """The table with two possible tokens from `depth` output tokens on: deep trees stay enumerable."""

    def logits_of(context: tuple[int, ...]) -> NDArray[np.float32]:
        row = table(context)
        if len(context) - len(PROMPT) < depth:
            return row
        narrow = np.full_like(row, NO_PROBABILITY)
        best = np.argsort(-row, kind="stable")[:2]
        narrow[best] = row[best]
        return narrow

    return logits_of


def enumeration_depth(num_drafts: int) -> tuple[int, int]:
    """(tokens of the output law that are compared, draft depth from which the tables are narrowed) for K."""
    return {1: (3, 3), 2: (3, 3), 3: (2, 2)}.get(num_drafts, (2, 1))


def target_table() -> LogitsOf:
    """The target of every cell."""
    return random_table(11, NUM_ROWS)
