"""RowMoments: mean and variance of the target's probability rows, in one pass and mergeable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import MismatchError


@dataclass(slots=True)
class RowMoments:
    """Count, mean [T] and sum of squared deviations [T] in float64 (Chan, Golub and LeVeque 1979)."""

    count: int
    mean: NDArray[np.float64]  # [T]
    squares: NDArray[np.float64]  # [T]

    @staticmethod
    def empty(rows: int) -> RowMoments:
        """Of no row yet, T = rows."""
        return RowMoments(0, np.zeros(rows), np.zeros(rows))

    def add(self, batch: NDArray[np.floating]) -> None:
        """Take in rows [n, T] (checked by the caller: `check_rows`)."""
        if batch.shape[0] == 0:
            return
        mean = batch.mean(axis=0, dtype=np.float64)
        squares = np.zeros_like(mean)
        for row in batch:
            squares += (row - mean) ** 2
        self.merge(RowMoments(batch.shape[0], mean, squares))

    def merge(self, other: RowMoments) -> None:
        """Take in what another shard saw. MismatchError for another T."""
        if other.mean.size != self.mean.size:
            raise MismatchError(f"statistics of {other.mean.size} rows do not fit those of {self.mean.size}")
        total = self.count + other.count
        if total == 0:
            return
        delta = other.mean - self.mean
        self.mean = self.mean + delta * (other.count / total)
        self.squares = self.squares + other.squares + delta**2 * (self.count * other.count / total)
        self.count = total

    @property
    def variance(self) -> NDArray[np.float64]:
        """[T] float64: the unbiased variance; zeros for fewer than two rows."""
        return self.squares / (self.count - 1) if self.count > 1 else np.zeros_like(self.squares)
