"""CallPlan: the calls over which an engine is compared: a prompt, single tokens and wide calls on a warm
cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from redraft._core.errors import UsageError
from redraft.engines.base import Call

WIDTHS = (17, 1, 1, 5, 1, 9, 3)
"""Tokens of consecutive calls. Every row's logits are asked for."""
NUM_TOKENS = sum(WIDTHS)


def plan_calls(target_ids: Sequence[int], *, max_width: int | None = None) -> Iterator[Call]:
    """Calls over the first `NUM_TOKENS` ids; UsageError for fewer. `max_width` splits wider calls."""
    if len(target_ids) < NUM_TOKENS:
        raise UsageError(f"verification needs {NUM_TOKENS} tokens of text, got {len(target_ids)}")
    start = 0
    for width in WIDTHS:
        stop = start + width
        while start < stop:
            step = min(stop - start, max_width or width)
            ids = np.array([target_ids[start : start + step]], np.int64)
            rows = np.arange(step)[None]
            yield Call(ids, start + rows, np.array([start], np.int64), rows.copy())
            start += step
