"""The warp: logits of one position -> the law that tokens are drawn from.

The order is fixed: temperature, top-k, top-p, min-p. Target and drafter rows go through this same function
with the same parameters; the drafter's rows are those of its graph's `draft_logits`, that is *after* RDK:
redistribute, then warp. With d the redistributed law, drafts come from q = warp(d), and acceptance and
residual use that q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import RedraftError, RequestError

from .law import Law
from .selection import largest, nucleus

NO_PROBABILITY = -1e30
"""The sentinel logit of an id that has no probability."""

MIN_TEMPERATURE = 1e-3


@dataclass(frozen=True, slots=True)
class WarpParams:
    """How logits become a law. The defaults change nothing; temperature 0 is greedy decoding.

    temperature: 0, or at least 0.001. top_k: 0 or -1 is off. top_p in (0, 1], 1 is off. min_p in [0, 1], 0
        is off.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if not (self.temperature == 0 or MIN_TEMPERATURE <= self.temperature < math.inf):
            raise RequestError(
                f"temperature must be 0 or finite and at least {MIN_TEMPERATURE}, got {self.temperature}",
                param="temperature",
                hint="temperature=0 is greedy decoding",
            )
        if self.top_k < -1:
            raise RequestError(
                f"top_k must be -1 (off), 0 (off) or positive, got {self.top_k}", param="top_k"
            )
        if not 0 < self.top_p <= 1:
            raise RequestError(f"top_p must lie in (0, 1], got {self.top_p}", param="top_p")
        if not 0 <= self.min_p <= 1:
            raise RequestError(f"min_p must lie in [0, 1], got {self.min_p}", param="min_p")

    @property
    def is_greedy(self) -> bool:
        """Whether every law is one-hot."""
        return self.temperature == 0

    @property
    def is_dense(self) -> bool:
        """Whether laws cover the whole vocabulary: a temperature and nothing else."""
        return not self.is_greedy and self.top_k <= 0 and self.top_p >= 1 and self.min_p <= 0


def warp(
    logits_row: NDArray[np.float32],
    params: WarpParams,
    *,
    num_tokens: int | None = None,
    out: NDArray[np.float32] | None = None,
) -> Law:
    """The law of one row of logits.

    Args:
        logits_row: [T] float32. -1e30 stands for "no probability" and gets exactly 0.
        params: the request's parameters.
        num_tokens: ids from here on are padding rows without a token: probability 0.
        out: [>= T] float32 buffer for dense weights; the law is then a view of it.

    Raises:
        RedraftError: the row holds NaN or infinity at its top, or no id has a probability.
    """
    row = logits_row if num_tokens is None else logits_row[:num_tokens]
    if params.is_greedy:
        best = int(row.argmax())
        _check_top(float(row[best]))
        return Law.one_hot(best)
    top = row.max()
    _check_top(float(top))
    ids = None
    if 0 < params.top_k < row.size:
        ids = largest(row, params.top_k)
    elif params.min_p > 0 and params.top_p >= 1:
        floor = float(top) + params.temperature * math.log(params.min_p)
        ids = np.flatnonzero(row >= floor - 1e-3 * max(1.0, abs(floor)))
    if ids is None:
        weights = _exponentials(
            row, top, params.temperature, np.empty_like(row) if out is None else out[: row.size]
        )
        if params.top_p >= 1:
            return Law(weights)
        ids = nucleus(weights, params.top_p * float(np.sum(weights, dtype=np.float64)))
        weights = weights[ids]
    else:
        weights = _exponentials(row[ids], top, params.temperature, np.empty(ids.size, np.float32))
        if params.top_p < 1:
            kept = nucleus(weights, params.top_p * float(np.sum(weights, dtype=np.float64)))
            ids, weights = ids[kept], weights[kept]
    if params.min_p > 0:  # the largest weight is exactly 1
        kept = np.flatnonzero(weights >= np.float32(params.min_p))
        ids, weights = ids[kept], weights[kept]
    return Law(weights, ids)


def _exponentials(
    row: NDArray[np.float32], top: np.float32, temperature: float, out: NDArray[np.float32]
) -> NDArray[np.float32]:
    """exp((row - top) / temperature) in float32, in `out`: exactly 1 at the top, 0 at the sentinel."""
    with np.errstate(over="ignore", under="ignore"):
        np.subtract(row, top, out=out)
        if temperature != 1:
            np.divide(out, np.float32(temperature), out=out)
        return np.exp(out, out=out)


def _check_top(top: float) -> None:
    if not math.isfinite(top):
        raise RedraftError(
            f"the engine's logits hold {top}", hint="`redraft verify BUNDLE` finds the engine at fault"
        )
    if top <= NO_PROBABILITY / 2:
        raise RedraftError("no token has a probability: every logit is the sentinel -1e30")
