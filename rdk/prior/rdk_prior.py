"""RdkPrior: what redistribution needs beside the drafter's output."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.digest import digest_json
from redraft.rdk.array_file import array_digest

KINDS: tuple[str, ...] = ("tli", "shift", "dense", "first-order", "bucket", "low-rank")

STATE_KINDS: tuple[str, ...] = ("bucket", "low-rank")
"""The kinds that need `prior_state` = state @ hidden [..., r] beside the hot logits."""


@dataclass(frozen=True, slots=True, eq=False)
class RdkPrior:
    """A prior of one kind, bound to a vocabulary map and to a drafter body by their digests.

    Arrays by kind (float32; T, D, C, E, r as in `axes.AXES`; cold rows in ascending target id):
        tli          -
        shift        hot_shift [D]
        dense        kernel [D, T], rows sum to 1                                   scalars: epsilon
        first-order  factor [T, r], Omega = factor @ factor.T                       scalars: epsilon, tau
        bucket       state [1, E] (mean cold head row), cold_log_prior [C] = log w  scalars: log_num_cold
        low-rank     state [r, E] (A), cold [C, r] (B), cold_bias [C] (b), hot_shift [D]

    Padding rows (see `VocabMap.num_tokens`) are part of C and T; whatever stands there is ignored, and the
    reference and the graph form give them no probability.
    """

    kind: str
    map_digest: str
    body_digest: str
    arrays: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    scalars: dict[str, float] = field(default_factory=dict)
    fit: dict[str, Any] = field(default_factory=dict)  # how it was made: method, data digest, seed

    @property
    def digest(self) -> str:
        """Hex SHA-256 over all that changes d: kind, arrays, scalars, and the map and body they belong to."""
        facts = [self.kind, self.map_digest, self.body_digest, self.scalars, array_digest(self.arrays)]
        return digest_json(facts)

    @property
    def rank(self) -> int:
        """r of `prior_state`; 0 for the kinds that need none."""
        return int(self.arrays["state"].shape[0]) if self.kind in STATE_KINDS else 0

    def save(self, path: Path) -> None:
        """Write `rdk_prior.safetensors`: see `prior_file`."""
        from .prior_file import save_prior

        save_prior(self, path)

    @staticmethod
    def load(path: Path) -> RdkPrior:
        """The prior that `save` wrote. InputFileError says what is wrong with a file."""
        from .prior_file import load_prior

        return load_prior(path)
