"""RdkPrior: what redistribution needs beside the drafter's output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS: tuple[str, ...] = ("tli", "shift", "dense", "first-order", "bucket", "low-rank")


@dataclass(frozen=True, slots=True)
class RdkPrior:
    """A prior of one kind, bound to a vocabulary map and to a drafter body by their digests.

    Arrays by kind (float32; T, D, C, E, r as in `axes.AXES`; cold rows in ascending target id):
        tli          -
        shift        hot_shift [D]
        dense        kernel [D, T], rows sum to 1                                   scalars: epsilon
        first-order  factor [T, r], Omega = factor @ factor.T                       scalars: epsilon, tau
        bucket       state [1, E] (mean cold head row), cold_log_prior [C] = log w  scalars: log_num_cold
        low-rank     state [r, E] (A), cold [C, r] (B), cold_bias [C] (b), hot_shift [D]
    """

    kind: str
    map_digest: str
    body_digest: str
    arrays: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    scalars: dict[str, float] = field(default_factory=dict)
    fit: dict[str, Any] = field(default_factory=dict)  # how it was made: method, data digest, seed
