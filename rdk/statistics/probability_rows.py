"""What a probability row must be before it enters a statistic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError

SUM_TOLERANCE = 1e-4


def check_rows(rows: NDArray[np.floating], size: int) -> None:
    """Raise InputFileError unless rows are [n, size], finite, in [0, 1] and sum to 1 within 1e-4."""
    if rows.ndim != 2 or rows.shape[1] != size:
        raise InputFileError(f"probability rows: expected [n, {size}], got {list(rows.shape)}")
    if not np.isfinite(rows).all():
        raise InputFileError("probability rows: some values are not finite")
    if rows.size and (rows.min() < 0.0 or rows.max() > 1.0 + SUM_TOLERANCE):
        raise InputFileError("probability rows: some values lie outside [0, 1]")
    sums = rows.sum(axis=1, dtype=np.float64)
    wrong = np.abs(sums - 1.0) > SUM_TOLERANCE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputFileError(f"probability rows: row {row} sums to {sums[row]:.6f}, not to 1")
