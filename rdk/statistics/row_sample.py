"""RowSample: a random sample of probability rows, kept sparse, from which the covariance is factored.

Covariance of T tokens is never formed: with n sampled rows it is Pc^T Pc / n, Pc [n, T] the centred rows,
so that [T, n] numbers, or [T, r] after a decomposition of [n, n] products, stand for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import MismatchError, UsageError
from redraft._core.random import Purpose, philox


@dataclass(slots=True)
class RowSample:
    """At most `capacity` rows, the `support` largest entries of each, renormalised.

    Every row seen has a random priority from (seed, its index), and the lowest priorities stay: the sample
    is uniform over all rows, the same however they were split into batches, and samples of disjoint indices
    merge.
    """

    rows: int  # T
    capacity: int
    support: int
    seed: int
    count: int
    priorities: NDArray[np.uint64]  # [n]
    ids: NDArray[np.int32]  # [n, support]
    probs: NDArray[np.float32]  # [n, support]

    @staticmethod
    def empty(rows: int, *, capacity: int = 512, support: int = 256, seed: int = 0) -> RowSample:
        """Of no row yet. UsageError: capacity or support below 1."""
        if capacity < 1 or support < 1:
            raise UsageError(f"a sample needs room for a row and an entry, got {capacity} and {support}")
        support = min(support, rows)
        ids, probs = np.zeros((0, support), np.int32), np.zeros((0, support), np.float32)
        return RowSample(rows, capacity, support, seed, 0, np.zeros(0, np.uint64), ids, probs)

    @property
    def num_rows(self) -> int:
        """n, the rows in the sample."""
        return int(self.priorities.size)

    def add(self, batch: NDArray[np.floating], *, first_index: int | None = None) -> None:
        """Take in rows [n, T] (checked by the caller: `check_rows`).

        first_index is the index of the first row in the whole stream (default: rows counted so far); shards
        that are to be merged must use disjoint indices.
        """
        start = self.count if first_index is None else first_index
        indices = np.arange(start, start + batch.shape[0], dtype=np.uint64)
        self.count += batch.shape[0]
        priorities = _priorities(self.seed, indices)
        if self.priorities.size == self.capacity:
            chosen = priorities < self.priorities[-1]
            batch, priorities = batch[chosen], priorities[chosen]
        if batch.shape[0] == 0:
            return
        ids = np.argpartition(-batch, self.support - 1, axis=1)[:, : self.support]
        probs = np.take_along_axis(batch, ids, axis=1).astype(np.float64)
        probs /= probs.sum(axis=1, keepdims=True)
        self._take(priorities, ids.astype(np.int32), probs.astype(np.float32))

    def merge(self, other: RowSample) -> None:
        """Take in another shard's sample. MismatchError unless T, capacity, support and seed agree."""
        ours = (self.rows, self.capacity, self.support, self.seed)
        theirs = (other.rows, other.capacity, other.support, other.seed)
        if ours != theirs:
            raise MismatchError(
                f"samples with (T, capacity, support, seed) {ours} and {theirs} cannot be merged"
            )
        self.count += other.count
        self._take(other.priorities, other.ids, other.probs)

    def factor(self, rank: int | None = None) -> NDArray[np.float32]:
        """[T, r] float32 with Omega = factor @ factor.T the sample's covariance, or its best rank-r part.

        The sampled rows are centred, so every column sums to 0 up to rounding, as the rows of a covariance
        do. rank None keeps one column a row. UsageError: fewer than two rows, or a rank outside [1, n].
        """
        num = self.num_rows
        if num < 2:
            raise UsageError("a covariance needs at least two sampled rows", hint="calibrate on more text")
        if rank is not None and not 1 <= rank <= num:
            raise UsageError(f"the rank of a covariance of {num} sampled rows must be 1 to {num}, got {rank}")
        mix = np.eye(num) - 1.0 / num
        if rank is not None:
            _, vectors = np.linalg.eigh(mix @ self._products() @ mix)
            mix = mix @ vectors[:, ::-1][:, :rank]
        factor = np.zeros((self.rows, mix.shape[1]), dtype=np.float32)
        mix /= np.sqrt(num)
        for row in range(num):
            factor[self.ids[row]] += (self.probs[row, :, None] * mix[row]).astype(np.float32)
        return factor

    def _products(self) -> NDArray[np.float64]:
        """[n, n]: inner products of the sampled rows."""
        num = self.num_rows
        products = np.zeros((num, num))
        dense = np.zeros(self.rows)
        for row in range(num):
            dense[self.ids[row]] = self.probs[row]
            products[row] = (dense[self.ids] * self.probs).sum(axis=1)
            dense[self.ids[row]] = 0.0
        return products

    def _take(
        self, priorities: NDArray[np.uint64], ids: NDArray[np.int32], probs: NDArray[np.float32]
    ) -> None:
        priorities = np.concatenate([self.priorities, priorities])
        order = np.argsort(priorities, kind="stable")[: self.capacity]
        self.priorities = priorities[order]
        self.ids = np.concatenate([self.ids, ids])[order]
        self.probs = np.concatenate([self.probs, probs])[order]


def _priorities(seed: int, indices: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """[n] uint64: a random word in the high half and the index in the low half, so that no two are equal."""
    low = indices & np.uint64(0xFFFFFFFF)
    words = philox(seed, 0, 0, Purpose.CALIBRATION, low.astype(np.uint32))
    return (words.astype(np.uint64) << np.uint64(32)) | low
