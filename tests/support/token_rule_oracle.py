"""The exact law of one drafted token's round, enumerated draft by draft."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from redraft.rdk.acceptance import accept_probability, residual

Float64 = NDArray[np.float64]


def emitted_law(
    p: Float64,
    q: Float64,
    residual_of: Callable[[Float64, Float64], Float64] = residual,
) -> tuple[Float64, float]:
    """(law [T] of the emitted token, probability that the draft is accepted) for a draft from q."""
    law, accepted = np.zeros_like(p), 0.0
    for token in np.flatnonzero(q > 0):
        kept = accept_probability(p, q, int(token))
        law[token] += q[token] * kept
        accepted += q[token] * kept
        if kept < 1.0:
            law += q[token] * (1.0 - kept) * residual_of(p, q)
    return law, accepted
