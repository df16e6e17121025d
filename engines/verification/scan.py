"""Scanning outputs and caches for values that are not finite or about to overflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .check import Check
from .logit_figures import SENTINEL

_FLOAT16_MAX = 65504.0
_NEAR = 0.5
"""A float16 value above this share of its range would overflow on a slightly different input."""
_LARGE = 1e10
"""No output or cache of a decoder comes near this in float32."""


def scan_arrays(name: str, arrays: Mapping[str, NDArray[Any]]) -> Check:
    """One check of named arrays: no NaN, no infinity, nothing near overflow; -1e30 in logits is exempt."""
    problems: list[str] = []
    largest: dict[str, float] = {}
    for label, array in arrays.items():
        values = array.astype(np.float32) if array.dtype != np.float32 else array
        if label.endswith("logits"):
            values = np.where(values <= SENTINEL, np.float32(0), values)
        num_bad = int(values.size - np.count_nonzero(np.isfinite(values)))
        peak = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
        largest[label] = peak
        limit = _FLOAT16_MAX * _NEAR if array.dtype == np.float16 else _LARGE
        if num_bad:
            problems.append(f"{label} holds {num_bad} values that are not finite")
        elif peak > limit:
            problems.append(f"{label} reaches {peak:.3g}, near overflow")
    sentence = "; ".join(problems) or f"all values of {len(arrays)} arrays are finite and far from overflow"
    worst = max(largest, key=largest.__getitem__, default=None)
    figures = {"largest": largest[worst] if worst else 0.0, "where": worst, "problems": problems}
    return Check(name, not problems, sentence, figures)
