"""The warp as it is defined: float64, full sorts, no shortcut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft.runtime.decoding import WarpParams


def warp_oracle(
    logits: NDArray[np.float32], params: WarpParams, num_tokens: int | None = None
) -> NDArray[np.float64]:
    """Probabilities [T] after temperature, top-k, top-p and min-p; ties go to the lowest id."""
    size = logits.size
    values = logits.astype(np.float64)
    kept = np.arange(size) < (size if num_tokens is None else num_tokens)
    kept &= values > -1e29
    if params.temperature == 0:
        best = np.flatnonzero(kept)[np.argmax(values[kept])]
        return (np.arange(size) == best).astype(np.float64)
    probs = _softmax(values / params.temperature, kept)
    order = np.argsort(np.where(kept, -values, np.inf), kind="stable")
    if params.top_k > 0:
        kept &= np.isin(np.arange(size), order[: params.top_k])
        probs = _softmax(values / params.temperature, kept)
    if params.top_p < 1:
        running = np.cumsum(probs[order])
        kept &= np.isin(np.arange(size), order[: np.searchsorted(running, params.top_p) + 1])
        probs = _softmax(values / params.temperature, kept)
    if params.min_p > 0:
        kept &= probs >= params.min_p * probs.max()
        probs = _softmax(values / params.temperature, kept)
    return probs


def _softmax(values: NDArray[np.float64], kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    weights = np.where(kept, np.exp(np.where(kept, values, 0) - values[kept].max()), 0.0)
    return weights / weights.sum()
