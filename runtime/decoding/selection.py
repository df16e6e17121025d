"""Selecting the k largest values or the smallest set that holds a mass, without sorting the vocabulary."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_GROUPS_PER_ROW = 64
_SMALL = 256
_FIRST_TRY = 64


def largest(values: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Ascending indices of exactly the k largest of `values` [n]; ties go to the lowest index.

    The k-th largest of the maxima of disjoint groups is a lower bound of the k-th largest value, so that
    one pass and a small partition suffice.
    """
    if k >= values.size:
        return np.arange(values.size)
    groups = values.size // _GROUPS_PER_ROW
    if k < groups:
        maxima = values[: groups * _GROUPS_PER_ROW].reshape(_GROUPS_PER_ROW, groups).max(axis=0)
        floor = np.partition(maxima, groups - k)[groups - k]
        candidates = np.flatnonzero(values >= floor)
        values = values[candidates]
    else:
        candidates = np.arange(values.size)
    if candidates.size == k:
        return candidates
    kth = np.partition(values, values.size - k)[values.size - k]
    chosen = values > kth
    ties = np.flatnonzero(values == kth)
    chosen[ties[: k - np.count_nonzero(chosen)]] = True
    indices: NDArray[np.int64] = candidates[chosen]
    return indices


def nucleus(weights: NDArray[np.float32], goal: float) -> NDArray[np.int64]:
    """Ascending indices of the smallest set of largest `weights` [n] whose total is at least `goal`.

    Ties go to the lowest index. A peaked row is settled by its few largest entries, a flat one by a
    quickselect on
    mass: expected time is linear.
    """
    first = largest(weights, _FIRST_TRY)
    if np.sum(weights[first], dtype=np.float64) >= goal:
        return np.sort(_prefix(first, weights[first], goal))
    return np.sort(_quickselect_mass(weights, goal))


def _quickselect_mass(weights: NDArray[np.float32], goal: float) -> NDArray[np.int64]:
    candidates, values = np.arange(weights.size), weights
    kept: list[NDArray[np.int64]] = []
    while values.size > _SMALL:
        pivot = np.median(values[:: max(1, values.size // 63)]).astype(values.dtype)
        above = values > pivot
        mass_above = float(np.sum(values[above], dtype=np.float64))
        if mass_above >= goal:
            candidates, values = candidates[above], values[above]
            continue
        equal = values == pivot
        mass_equal = float(pivot) * np.count_nonzero(equal)
        kept.append(candidates[above])
        if mass_above + mass_equal >= goal:
            count = math.ceil((goal - mass_above) / float(pivot))
            kept.append(candidates[equal][:count])
            return np.concatenate(kept)
        kept.append(candidates[equal])
        below = values < pivot
        goal -= mass_above + mass_equal
        candidates, values = candidates[below], values[below]
    kept.append(_prefix(candidates, values, goal))
    return np.concatenate(kept)


def _prefix(indices: NDArray[np.int64], values: NDArray[np.float32], goal: float) -> NDArray[np.int64]:
    """The shortest prefix, in descending order of value, with a total of at least `goal`."""
    order = np.argsort(-values, kind="stable")
    running = np.cumsum(values[order], dtype=np.float64)
    return indices[order[: int(np.searchsorted(running, goal, side="left")) + 1]]
