"""The one table of numeric tolerances, by the dtype in which a result was computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

TOLERANCES: dict[str, tuple[float, float]] = {
    "float64": (1e-11, 1e-11),
    "float32": (2e-4, 2e-4),
    "float16": (3e-2, 2e-2),
    "bfloat16": (2e-1, 1e-1),
}
"""dtype -> (absolute, relative)."""


def assert_close(actual: NDArray[Any], expected: NDArray[Any], dtype: str = "float32") -> None:
    """Fail unless shapes agree, all is finite and |actual - expected| <= absolute + relative * |expected|."""
    absolute, relative = TOLERANCES[dtype]
    assert actual.shape == expected.shape, f"shapes {actual.shape} and {expected.shape}"
    assert np.isfinite(actual).all(), "not finite"
    np.testing.assert_allclose(
        actual.astype(np.float64), expected.astype(np.float64), atol=absolute, rtol=relative
    )
