"""LogitFigures: how far two sets of logits are apart, in the measures that matter for decoding."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tolerance import Tolerance

SENTINEL = -1e29
"""Logits at or below this mean "no probability" (-1e30 in the graphs) and are compared by place, not by
value.
"""


@dataclass(frozen=True, slots=True)
class LogitFigures:
    """Over all rows. `max_excess`: the largest error as a multiple of what the tolerance allows."""

    rows: int
    max_abs_error: float
    max_excess: float
    argmax_agreement: float  # share of rows with the same best token
    worst_argmax_margin: float  # largest expected top-2 margin among rows whose best token differs; 0 if none
    mean_kl: float  # nats, KL(expected || actual)
    max_kl: float
    same_support: bool  # "no probability" stands at the same places

    def within(self, tolerance: Tolerance) -> bool:
        """Whether errors and divergence are inside the tolerance, "no probability" where it should be."""
        mean_kl = tolerance.kl if tolerance.mean_kl is None else tolerance.mean_kl
        close = self.max_kl <= tolerance.kl and self.mean_kl <= mean_kl
        return self.same_support and self.max_excess <= 1 and close

    def to_json(self) -> dict[str, Any]:
        """The fields."""
        return asdict(self)


def compare_logits(
    actual: NDArray[np.floating[Any]], expected: NDArray[np.floating[Any]], tolerance: Tolerance
) -> LogitFigures:
    """Figures of `actual` against `expected`, both [n, T]. NaN anywhere makes every figure of its row
    infinite.
    """
    assert actual.shape == expected.shape
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    a = np.where(np.isfinite(a), a, np.inf)
    dead_a, dead_e = a <= SENTINEL, e <= SENTINEL
    with np.errstate(invalid="ignore", over="ignore"):
        in_tail = np.maximum(_softmax(e), _softmax(a)) < tolerance.tail
        error = np.where(dead_a | dead_e | in_tail, 0.0, np.abs(a - e))
        excess = error / (tolerance.absolute + tolerance.relative * np.abs(e))
        kl = np.array([_kl(row_e, row_a, tolerance.tail) for row_e, row_a in zip(e, a, strict=True)])
    best = e.argmax(axis=1)
    differs = a.argmax(axis=1) != best
    top = np.sort(e, axis=1)[:, -2:] if e.shape[1] > 1 else np.zeros((len(e), 2))
    margins = np.where(differs, top[:, 1] - top[:, 0], 0.0)
    return LogitFigures(
        rows=len(e),
        max_abs_error=float(error.max()),
        max_excess=float(excess.max()),
        argmax_agreement=float(1 - differs.mean()),
        worst_argmax_margin=float(margins.max()),
        mean_kl=float(kl.mean()),
        max_kl=float(kl.max()),
        same_support=bool(((dead_a == dead_e) | in_tail).all()),
    )


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each row; NaN for a row that is not finite."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    rows: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return rows


def _kl(expected: NDArray[np.float64], actual: NDArray[np.float64], tail: float) -> float:
    if not np.isfinite(actual).all():
        return float("inf")
    p, q = expected - expected.max(), actual - actual.max()
    log_p, log_q = p - np.log(np.exp(p).sum()), q - np.log(np.exp(q).sum())
    weights = np.exp(log_p)
    alive = weights > tail
    return max(0.0, float((weights[alive] * (log_p[alive] - log_q[alive])).sum()))
