"""The token rule on dense probability rows: accept x with min(1, p(x)/q(x)), else draw from max(p - q, 0).

Leviathan et al. 2023 (arXiv 2211.17192), Chen et al. 2023 (arXiv 2302.01318). For every q that x was really
drawn from, the emitted token has law p exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import RedraftError

Rows = NDArray[np.floating]
"""[..., T] probabilities in target-id order."""


def accept_probability(p: Rows, q: Rows, target_id: int) -> float:
    """min(1, p(x) / q(x)) of a draft x = target_id, for rows [T]. RedraftError where q(x) is 0."""
    drafted = float(q[target_id])
    if drafted <= 0.0:
        raise RedraftError(f"target id {target_id} was drafted, but its draft law gives it no probability")
    return min(1.0, float(p[target_id]) / drafted)


def residual(p: Rows, q: Rows) -> NDArray[np.float64]:
    """[..., T] float64: max(p - q, 0) normalised, the law of the token that replaces a rejected draft.

    The whole row q is subtracted, not the draft's share alone. Where nothing is left (p equals q up to
    rounding, so that a rejection has probability 0 up to rounding) it is p.
    """
    left = np.maximum(p.astype(np.float64) - q.astype(np.float64), 0.0)
    total = left.sum(axis=-1, keepdims=True)
    full = np.broadcast_to(p.astype(np.float64), left.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest: NDArray[np.float64] = np.where(
            total > 0.0, left / total, full / full.sum(axis=-1, keepdims=True)
        )
    return rest
