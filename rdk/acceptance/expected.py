"""What acceptance to expect, from probability rows and from acceptance rates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import UsageError

from .token_rule import Rows


def expected_acceptance(p: Rows, q: Rows) -> NDArray[np.float64]:
    """[...] float64: sum_x min(p(x), q(x)), the probability that a draft from q is accepted."""
    total: NDArray[np.float64] = np.minimum(p, q).sum(axis=-1, dtype=np.float64)
    return total


def sample_match_acceptance(p: Rows, q: Rows) -> NDArray[np.float64]:
    """[...] float64: sum_x p(x) q(x), the acceptance of comparing the target's own sample with the draft."""
    total: NDArray[np.float64] = (p.astype(np.float64) * q).sum(axis=-1)
    return total


def mean_acceptance_length(acceptance: float, max_drafts: int) -> float:
    """Expected tokens per round, bonus token included, if each of K drafts were accepted independently.

    (1 - a^(K+1)) / (1 - a), and K + 1 where a is 1. UsageError: a outside [0, 1] or K below 0.
    """
    if not 0.0 <= acceptance <= 1.0 or max_drafts < 0:
        raise UsageError(f"expected an acceptance in [0, 1] and K >= 0, got {acceptance} and {max_drafts}")
    return float(sum(acceptance**i for i in range(max_drafts + 1)))


def mean_length_of_positions(acceptances: NDArray[np.floating]) -> NDArray[np.float64]:
    """[...] float64: expected tokens per round from acceptances [..., K], each given the earlier ones."""
    length: NDArray[np.float64] = 1.0 + np.cumprod(acceptances.astype(np.float64), axis=-1).sum(axis=-1)
    return length
