"""Draft laws of every kind over the tiny vocabulary of the exactness test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from tests.support.enumeration_cells import NUM_ROWS
from tests.support.fake_engines import LogitsOf, random_table

from redraft.runtime.decoding.warp import NO_PROBABILITY

HOT = (0, 2)
"""The kept target ids."""


def _pruned(table: LogitsOf) -> LogitsOf:
    """The table with the sentinel outside HOT."""

    def logits_of(context: tuple[int, ...]) -> NDArray[np.float32]:
        row = np.full(NUM_ROWS, NO_PROBABILITY, np.float32)
        row[list(HOT)] = table(context)[list(HOT)]
        return row

    return logits_of


DRAFT_TABLES: dict[str, Callable[[], LogitsOf]] = {
    "unrelated": lambda: random_table(2, NUM_ROWS),
    "pruned": lambda: _pruned(random_table(3, NUM_ROWS)),
}
"""Kind -> its draft logits."""
