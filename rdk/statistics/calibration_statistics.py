"""CalibrationStatistics: all that unfitted priors need of one calibration run, as one object and one file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.atomic import atomic_file
from redraft._core.digest import digest_json
from redraft._core.errors import InputFileError, MismatchError
from redraft.rdk.array_file import array_digest, read_arrays, write_arrays

from .hidden_moments import HiddenMoments
from .probability_rows import check_rows
from .row_moments import RowMoments
from .row_sample import RowSample

_HINT = "run the statistics pass again: redraft prior fit"


@dataclass(slots=True)
class CalibrationStatistics:
    """Moments and a sample of the target's probability rows, and moments of the drafter's hidden states."""

    rows: RowMoments
    sample: RowSample
    hidden: HiddenMoments

    @staticmethod
    def empty(
        num_rows: int, hidden_size: int, *, capacity: int = 512, support: int = 256, seed: int = 0
    ) -> CalibrationStatistics:
        """Of nothing yet; see `RowSample` for capacity, support and seed."""
        sample = RowSample.empty(num_rows, capacity=capacity, support=support, seed=seed)
        return CalibrationStatistics(RowMoments.empty(num_rows), sample, HiddenMoments.empty(hidden_size))

    def add_rows(self, batch: NDArray[np.floating], *, first_index: int | None = None) -> None:
        """Take in probability rows [n, T] of the target. InputFileError unless they are such rows."""
        check_rows(batch, self.rows.mean.size)
        self.rows.add(batch)
        self.sample.add(batch, first_index=first_index)

    def add_hidden(self, states: NDArray[np.floating]) -> None:
        """Take in states [n, E] that enter the drafter's head."""
        self.hidden.add(states)

    def merge(self, other: CalibrationStatistics) -> None:
        """Take in what another shard saw. MismatchError where the sizes or the sample's settings differ."""
        self.rows.merge(other.rows)
        self.sample.merge(other.sample)
        self.hidden.merge(other.hidden)

    @property
    def digest(self) -> str:
        """Hex SHA-256 over all numbers."""
        return digest_json([self._facts(), array_digest(self._arrays())])

    def save(self, path: Path) -> None:
        """Write a safetensors file, whole or not at all."""
        with atomic_file(path) as temporary:
            facts = json.dumps({**self._facts(), "digest": self.digest})
            write_arrays(temporary, self._arrays(), {"statistics": facts})

    @staticmethod
    def load(path: Path) -> CalibrationStatistics:
        """What `save` wrote. InputFileError: missing or damaged; MismatchError: changed since."""
        arrays, metadata = read_arrays(path)
        try:
            facts = json.loads(metadata["statistics"])
            found = CalibrationStatistics(
                RowMoments(int(facts["row_count"]), arrays["mean"], arrays["squares"]),
                RowSample(
                    int(arrays["mean"].size),
                    int(facts["capacity"]),
                    int(facts["support"]),
                    int(facts["seed"]),
                    int(facts["sample_count"]),
                    arrays["priorities"],
                    arrays["ids"],
                    arrays["probs"],
                ),
                HiddenMoments(int(facts["hidden_count"]), arrays["hidden_total"], arrays["hidden_products"]),
            )
            digest = facts["digest"]
        except (KeyError, TypeError, ValueError) as error:
            raise InputFileError(f"{path} holds no calibration statistics of redraft", hint=_HINT) from error
        if found.digest != digest:
            raise MismatchError(f"{path} was changed after it was written", hint=_HINT)
        return found

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "mean": self.rows.mean,
            "squares": self.rows.squares,
            "priorities": self.sample.priorities,
            "ids": self.sample.ids,
            "probs": self.sample.probs,
            "hidden_total": self.hidden.total,
            "hidden_products": self.hidden.products,
        }

    def _facts(self) -> dict[str, int]:
        return {
            "row_count": self.rows.count,
            "capacity": self.sample.capacity,
            "support": self.sample.support,
            "seed": self.sample.seed,
            "sample_count": self.sample.count,
            "hidden_count": self.hidden.count,
        }
