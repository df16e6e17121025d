"""Quantisation with integer zero points: what is exact, what is best, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from redraft._core.errors import UnsupportedError
from redraft.export.quantize import quantize_blocks, quantize_matrix

RNG_SEED = 11


def _matrix(rows: int = 24, width: int = 96) -> NDArray[np.float32]:
    return np.random.default_rng(RNG_SEED).standard_normal((rows, width)).astype(np.float32)


def _plain_range_error(w: NDArray[np.float32], levels: int) -> NDArray[np.float64]:
    """Squared error of each block when its whole range is used as it is."""
    blocks = w.reshape(-1, 32).astype(np.float64)
    low, high = np.minimum(blocks.min(1), 0), np.maximum(blocks.max(1), 0)
    scale = (high - low) / levels
    zero = np.rint(-low / scale)
    q = np.clip(np.rint(blocks / scale[:, None]) + zero[:, None], 0, levels)
    return (((q - zero[:, None]) * scale[:, None] - blocks) ** 2).sum(1)


@pytest.mark.parametrize("bits", [4, 8])
def test_weights_on_the_grid_come_back_exactly(bits: int) -> None:
    rng = np.random.default_rng(RNG_SEED)
    levels = 2**bits - 1
    q = rng.integers(0, levels + 1, (16, 64))
    q[:, 0::32], q[:, 1::32] = 0, levels  # the whole range occurs in every block
    zero = np.repeat(rng.integers(0, levels + 1, (16, 2)), 32, axis=1)
    scale = np.repeat(2.0 ** rng.integers(-6, 0, (16, 2)), 32, axis=1)
    w = ((q - zero) * scale).astype(np.float32)
    np.testing.assert_allclose(quantize_matrix("w", w, bits).dequantize(), w, atol=0, rtol=1e-6)


def test_int4_is_nowhere_worse_than_the_plain_range_and_better_on_the_whole() -> None:
    w = _matrix(64, 256)
    error = ((quantize_matrix("w", w, 4).dequantize().astype(np.float64) - w) ** 2).reshape(-1, 32).sum(1)
    plain = _plain_range_error(w, 15)
    assert (error <= plain * (1 + 1e-5)).all()
    assert error.sum() < 0.95 * plain.sum()


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_error_is_below_a_step_except_where_outliers_are_clipped(bits: int, dtype: type) -> None:
    w = _matrix()
    blocks = quantize_matrix("w", w, bits, dtype)
    assert blocks.scale.dtype == dtype
    step = np.repeat(blocks.scale.astype(np.float32), 32, axis=1)
    off = np.abs(blocks.dequantize() - w) / step
    assert (off < 0.52).mean() > 0.93
    assert off.max() < 3


def test_zero_stays_zero() -> None:
    w = _matrix()
    w[:, ::5] = 0
    assert (quantize_matrix("w", w, 4).dequantize()[:, ::5] == 0).all()


@pytest.mark.parametrize("value", [0.0, 0.25, -3.0, 1e-30])
def test_constant_blocks_are_finite_and_close(value: float) -> None:
    w = np.full((4, 64), value, dtype=np.float32)
    back = quantize_matrix("w", w, 4).dequantize()
    np.testing.assert_allclose(back, w, rtol=1e-6)


def test_tiny_weights_do_not_underflow_a_half_precision_scale_to_nan() -> None:
    back = quantize_matrix("w", np.full((1, 32), 1e-9, dtype=np.float32), 4, np.float16).dequantize()
    assert np.isfinite(back).all()
    assert np.abs(back).max() < 1e-6


def test_rows_do_not_depend_on_each_other() -> None:
    w = _matrix(5)
    whole = quantize_matrix("w", w, 4)
    for row in range(5):
        alone = quantize_matrix("w", w[row : row + 1], 4)
        np.testing.assert_array_equal(alone.q[0], whole.q[row])
        np.testing.assert_array_equal(alone.scale[0], whole.scale[row])


def test_large_matrices_come_in_several_parts_that_cover_all_rows() -> None:
    w = np.zeros((5000, 128), dtype=np.float32)
    parts = [part.q.shape[0] for part in quantize_blocks("w", w, 8)]
    assert len(parts) > 1
    assert sum(parts) == 5000


def test_width_that_is_no_multiple_of_the_block_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"'layers.0.down' has 48 inputs.*32"):
        quantize_matrix("layers.0.down", np.zeros((4, 48), dtype=np.float32), 4)


def test_weight_that_is_not_finite_is_refused_by_name() -> None:
    w = _matrix()
    w[3, 3] = np.nan
    with pytest.raises(UnsupportedError, match=r"'layers\.1\.q' holds a value that is not finite"):
        quantize_matrix("layers.1.q", w, 4)
