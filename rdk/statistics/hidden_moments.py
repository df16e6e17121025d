"""HiddenMoments: mean and second moment of the hidden states that enter the head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError, MismatchError, UsageError


@dataclass(slots=True)
class HiddenMoments:
    """Count, sum [E] and sum of outer products [E, E] in float64."""

    count: int
    total: NDArray[np.float64]  # [E]
    products: NDArray[np.float64]  # [E, E]

    @staticmethod
    def empty(hidden_size: int) -> HiddenMoments:
        """Of no state yet."""
        return HiddenMoments(0, np.zeros(hidden_size), np.zeros((hidden_size, hidden_size)))

    def add(self, states: NDArray[np.floating]) -> None:
        """Take in states [n, E]. InputFileError: another E, or values that are not finite."""
        if states.ndim != 2 or states.shape[1] != self.total.size:
            raise InputFileError(f"hidden states: expected [n, {self.total.size}], got {list(states.shape)}")
        if not np.isfinite(states).all():
            raise InputFileError("hidden states: some values are not finite")
        wide = states.astype(np.float64)
        self.count += wide.shape[0]
        self.total += wide.sum(axis=0)
        self.products += wide.T @ wide

    def merge(self, other: HiddenMoments) -> None:
        """Take in what another shard saw. MismatchError for another E."""
        if other.total.size != self.total.size:
            raise MismatchError(
                f"hidden states of size {other.total.size} do not fit those of size {self.total.size}"
            )
        self.count += other.count
        self.total = self.total + other.total
        self.products = self.products + other.products

    @property
    def second_moment(self) -> NDArray[np.float64]:
        """[E, E] float64: E[h h^T]. UsageError where no state was seen."""
        return self.products / self._seen()

    @property
    def mean(self) -> NDArray[np.float64]:
        """[E] float64: E[h]. UsageError where no state was seen."""
        return self.total / self._seen()

    def _seen(self) -> int:
        if self.count == 0:
            raise UsageError("no hidden state was seen", hint="calibrate on more text")
        return self.count
