"""Law: one request's probability law over target ids at one position."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import RedraftError

_BLOCK = 512
_ONE = np.ones(1)


class Law:
    """A probability law over target ids: a dense row, or a sparse support of sorted ids.

    Weights are computed once (float32 from the warp, float64 for residuals) and divided by their float64
    total on reading, so that drafting, acceptance and residual all see the same numbers. A dense law may be
    a view of a reused
    buffer: it is valid until its owner warps into that buffer again.
    """

    __slots__ = ("_bounds", "certain_id", "ids", "total", "weights")

    ids: NDArray[np.int64] | None  # [n] ascending target ids of a sparse law; None: weight i is target id i
    weights: NDArray[np.float32] | NDArray[np.float64]  # [n], >= 0, not normalised
    total: float
    certain_id: int | None  # the only id of a law with one entry
    _bounds: NDArray[np.float64]  # running totals: of blocks for a dense law, of the weights for a sparse one

    def __init__(
        self, weights: NDArray[np.float32] | NDArray[np.float64], ids: NDArray[np.int64] | None = None
    ) -> None:
        """The law with these weights. RedraftError unless their total is positive and finite."""
        self.ids, self.weights = ids, weights
        self.certain_id = int(ids[0]) if ids is not None and ids.size == 1 else None
        if ids is None:
            self._bounds = np.cumsum(_block_totals(weights))
        else:
            self._bounds = np.cumsum(weights, dtype=np.float64)
        self.total = float(self._bounds[-1]) if self._bounds.size else 0.0
        if not 0.0 < self.total < np.inf:
            raise RedraftError(f"a probability law needs a positive, finite total, got {self.total}")

    @staticmethod
    def one_hot(target_id: int) -> Law:
        """All probability on one target id."""
        law = object.__new__(Law)
        law.ids, law.weights, law._bounds, law.total = np.array([target_id], np.int64), _ONE, _ONE, 1.0
        law.certain_id = target_id
        return law

    def prob(self, target_id: int) -> float:
        """Probability of one target id; 0 outside the support."""
        if self.certain_id is not None:
            return float(target_id == self.certain_id)
        if self.ids is None:
            return float(self.weights[target_id]) / self.total if target_id < self.weights.size else 0.0
        slot = int(np.searchsorted(self.ids, target_id))
        if slot == self.ids.size or self.ids[slot] != target_id:
            return 0.0
        return float(self.weights[slot]) / self.total

    def probs(self, target_ids: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Probabilities of these target ids (ascending or not), or of the law's own entries: [n] float64."""
        if target_ids is None:
            return np.multiply(self.weights, 1.0 / self.total, dtype=np.float64)
        if self.ids is None:
            return np.asarray(self.weights[target_ids], dtype=np.float64) / self.total
        slots = np.minimum(np.searchsorted(self.ids, target_ids), self.ids.size - 1)
        found = self.ids[slots] == target_ids
        return np.where(found, np.asarray(self.weights[slots], dtype=np.float64) / self.total, 0.0)

    def support(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The ids with positive probability, ascending, and their probabilities."""
        probs = self.probs()
        entries = np.flatnonzero(probs > 0)
        return (entries if self.ids is None else self.ids[entries]), probs[entries]

    def mass(self, target_ids: NDArray[np.int64], is_member: NDArray[np.bool_]) -> float:
        """Probability of a set of ids, given both as ids [n] (ascending) and as a mask [T] of membership."""
        if self.certain_id is not None:
            return float(is_member[self.certain_id])
        if self.ids is None:
            inside = target_ids[: np.searchsorted(target_ids, self.weights.size)]
            return float(np.sum(self.weights.take(inside), dtype=np.float64)) / self.total
        return float(np.sum(self.weights[is_member[self.ids]], dtype=np.float64)) / self.total

    def at(self, u: float) -> int:
        """The id at quantile u in [0, 1): the first id whose running total exceeds u * total.

        The comparison is strict and the id found always has positive weight, whatever the rounding.
        """
        if self.ids is not None:
            return int(self.ids[_first_above(self._bounds, u * self.total, self.weights)])
        block = min(int(np.searchsorted(self._bounds, u * self.total, side="right")), self._bounds.size - 1)
        start = block * _BLOCK
        before = float(self._bounds[block - 1]) if block else 0.0
        inside = self.weights[start : start + _BLOCK]
        return start + _first_above(np.cumsum(inside, dtype=np.float64), u * self.total - before, inside)


def _block_totals(weights: NDArray[np.float32] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Totals of consecutive blocks of _BLOCK weights, the last one possibly shorter."""
    whole = weights.size // _BLOCK * _BLOCK
    totals: NDArray[np.float64] = np.add.reduce(weights[:whole].reshape(-1, _BLOCK), axis=1, dtype=np.float64)
    if whole == weights.size:
        return totals
    return np.append(totals, np.sum(weights[whole:], dtype=np.float64))


def _first_above(
    running: NDArray[np.float64], goal: float, weights: NDArray[np.float32] | NDArray[np.float64]
) -> int:
    """First slot whose running total exceeds `goal`; else the last slot of positive weight."""
    slot = int(np.searchsorted(running, goal, side="right"))
    if slot < running.size and weights[slot] > 0:
        return slot
    return int(np.flatnonzero(weights[: slot + 1] > 0)[-1]) if slot else int(np.flatnonzero(weights > 0)[0])
