"""Draft laws of every RDK kind over the tiny vocabulary of the exactness test, by their definitions.

Each table gives the drafter graph's output: log d + logsumexp(hot logits), the sentinel where d is 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from tests.support.enumeration_cells import NUM_ROWS
from tests.support.fake_engines import LogitsOf, random_table

from redraft.runtime.decoding.warp import NO_PROBABILITY

HOT = np.array([0, 2])
COLD = np.array([1, 3])
_PRIOR = np.random.default_rng(77)
_SHIFT = _PRIOR.normal(0, 1, HOT.size)
_KERNEL = _PRIOR.dirichlet(np.ones(NUM_ROWS), HOT.size)  # [D, T]
_FACTOR = _PRIOR.normal(0, 0.7, (NUM_ROWS, 2))  # [T, r]
_COLD_PRIOR = _PRIOR.dirichlet(np.ones(COLD.size))  # [C]
_COLD_ROWS = _PRIOR.normal(0, 1, (COLD.size, 2))  # [C, r]
_EPSILON, _TAU = 0.3, 2.0

Redistribute = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""Hot logits [D] and a prior state [r] -> d [T]."""


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def _scatter(hot: NDArray[np.float64], cold: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
    d = np.zeros(NUM_ROWS)
    d[HOT], d[COLD] = hot, cold
    return d


def _tli(hot: NDArray[np.float64], state: NDArray[np.float64]) -> NDArray[np.float64]:
    return _scatter(_softmax(hot))


def _shift(hot: NDArray[np.float64], state: NDArray[np.float64]) -> NDArray[np.float64]:
    return _scatter(_softmax(hot + _SHIFT))


def _dense(hot: NDArray[np.float64], state: NDArray[np.float64]) -> NDArray[np.float64]:
    s = _softmax(hot)
    return (1 - _EPSILON) * _scatter(s) + _EPSILON * s @ _KERNEL


def _first_order(hot: NDArray[np.float64], state: NDArray[np.float64]) -> NDArray[np.float64]:
    s = _scatter(_softmax(hot))
    spread = np.maximum(1 + _FACTOR @ (_FACTOR.T @ s) / _TAU, 0)
    return (1 - _EPSILON) * s + _EPSILON * spread / spread.sum()


def _bucket(hot: NDArray[np.float64], state: NDArray[np.float64]) -> NDArray[np.float64]:
    *s, theta = _softmax(np.append(hot, np.log(COLD.size) + state[0]))
    return _scatter(np.array(s), theta * _COLD_PRIOR)


def _low_rank(hot: NDArray[np.float64], state: NDArray[np.float64]) -> NDArray[np.float64]:
    d = _softmax(np.concatenate([hot + _SHIFT, _COLD_ROWS @ state]))
    return _scatter(d[: HOT.size], d[HOT.size :])


def _table(redistribute: Redistribute) -> LogitsOf:
    hot_table, state_table = random_table(3, HOT.size), random_table(4, 2, scale=0.8)

    def logits_of(context: tuple[int, ...]) -> NDArray[np.float32]:
        hot = hot_table(context).astype(np.float64)
        d = redistribute(hot, state_table(context).astype(np.float64))
        scale = np.log(np.exp(hot).sum())
        with np.errstate(divide="ignore"):
            return np.where(d > 0, np.log(d) + scale, NO_PROBABILITY).astype(np.float32)

    return logits_of


DRAFT_TABLES: dict[str, Callable[[], LogitsOf]] = {
    "tli": lambda: _table(_tli),
    "shift": lambda: _table(_shift),
    "dense": lambda: _table(_dense),
    "first-order": lambda: _table(_first_order),
    "bucket": lambda: _table(_bucket),
    "low-rank": lambda: _table(_low_rank),
    "unrelated": lambda: random_table(2, NUM_ROWS),
}
"""Kind -> its draft logits."""
