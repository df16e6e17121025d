"""The token rule: accept a draft with min(1, p/q), else draw from the normalised positive part of p - q.

Leviathan et al. 2023 (arXiv 2211.17192), Chen et al. 2023 (arXiv 2302.01318). The emitted token has law p
for every q that the draft was really drawn from.
"""

from __future__ import annotations

import numpy as np

from redraft._core.errors import RedraftError

from .law import Law

NAME = "token"
"""What reports call this rule."""


def accept_probability(p: Law, q: Law, target_id: int) -> float:
    """min(1, p(x) / q(x)) for a draft x drawn from q. RedraftError where q(x) is 0: it was not."""
    drafted = q.prob(target_id)
    if drafted <= 0:
        raise RedraftError(f"target id {target_id} was drafted, but its draft law gives it no probability")
    return min(1.0, p.prob(target_id) / drafted)


def residual(p: Law, q: Law) -> Law:
    """The law of the token that replaces a rejected draft: max(p - q, 0), normalised, in float64.

    All of q is subtracted, not only the draft's share. Where rounding leaves nothing (p equals q), p itself.
    """
    if p.certain_id is not None:
        return p
    left = p.probs()
    if q.ids is None:
        if p.ids is None:
            _subtract_dense(left, q)
        else:
            left -= q.probs(p.ids)
    elif p.ids is None:
        inside = q.ids[: np.searchsorted(q.ids, left.size)]
        left[inside] -= q.probs()[: inside.size]
    else:
        left -= q.probs(p.ids)
    np.maximum(left, 0.0, out=left)
    return Law(left, p.ids) if left.any() else p


def _subtract_dense(left: np.ndarray[tuple[int], np.dtype[np.float64]], q: Law) -> None:
    count = min(left.size, q.weights.size)
    left[:count] -= np.multiply(q.weights[:count], 1.0 / q.total, dtype=np.float64)
