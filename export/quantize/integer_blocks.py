"""Weight-only quantisation in blocks along the input axis, asymmetric with integer zero points.

w ~ scale * (q - zero_point), q and zero_point unsigned of `bits` bits. For each block the range, which always
includes 0, is tried at several widths; with the integers fixed, the scale that minimises the squared error is
<w, t> / <t, t> with t = q - zero_point, so a width's error is |w|^2 - <w, t>^2 / <t, t>. On SmolLM2's and
Gemma's matrices this takes 4 to 15 % off the root-mean-square error of a plain range at 4 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import UnsupportedError
from redraft.export.precision import BLOCK

QUANTIZER_VERSION = 1
"""Counted up whenever the same weights would give other integers: it goes into the drafter body's digest."""

_WIDTHS = {4: (1.05, 1.0, 0.96, 0.92, 0.88, 0.84, 0.80, 0.75), 8: (1.0,)}
_CHUNK = 1 << 18  # weights worked on at a time


@dataclass(frozen=True, slots=True)
class IntegerBlocks:
    """Some rows of a quantised matrix."""

    q: NDArray[np.uint8]  # [rows, in]
    scale: NDArray[Any]  # [rows, in / 32] float32 or float16
    zero_point: NDArray[np.uint8]  # [rows, in / 32]

    def dequantize(self) -> NDArray[np.float32]:
        """[rows, in] float32."""
        rows, width = self.q.shape
        t = self.q.reshape(rows, -1, BLOCK).astype(np.float32) - self.zero_point[:, :, None]
        return (t * self.scale[:, :, None].astype(np.float32)).reshape(rows, width)


def quantize_blocks(
    name: str, weight: NDArray[np.float32], bits: int, scale_dtype: Any = np.float32
) -> Iterator[IntegerBlocks]:
    """Quantise `weight` [out, in] a few rows at a time, in row order.

    `bits` is 4 or 8. UnsupportedError, naming the matrix, where `in` is no multiple of 32 or a weight is not
    finite.
    """
    out, width = weight.shape
    if width % BLOCK:
        raise UnsupportedError(
            f"int{bits} weights: '{name}' has {width} inputs, not a multiple of the block size {BLOCK}",
            hint="export this part in fp32, fp16 or bf16",
        )
    step = max(1, _CHUNK // width)
    for start in range(0, out, step):
        rows = np.ascontiguousarray(weight[start : start + step], dtype=np.float32)
        if not np.isfinite(rows).all():
            raise UnsupportedError(f"int{bits} weights: '{name}' holds a value that is not finite")
        yield _quantize_rows(rows, bits, scale_dtype)


def quantize_matrix(
    name: str, weight: NDArray[np.float32], bits: int, scale_dtype: Any = np.float32
) -> IntegerBlocks:
    """`quantize_blocks` of all rows at once."""
    parts = list(quantize_blocks(name, weight, bits, scale_dtype))
    return IntegerBlocks(
        np.concatenate([part.q for part in parts]),
        np.concatenate([part.scale for part in parts]),
        np.concatenate([part.zero_point for part in parts]),
    )


def _quantize_rows(rows: NDArray[np.float32], bits: int, scale_dtype: Any) -> IntegerBlocks:
    blocks = rows.reshape(-1, BLOCK)
    low = np.minimum(blocks.min(axis=1), np.float32(0))
    high = np.maximum(blocks.max(axis=1), np.float32(0))
    best_gain = np.full(len(blocks), -1, dtype=np.float32)
    best_scale = np.ones(len(blocks), dtype=scale_dtype)
    best_zero = np.zeros(len(blocks), dtype=np.float32)
    for width in _WIDTHS[bits]:
        scale, zero, gain = _fit_width(blocks, low, high, np.float32(width), bits, scale_dtype)
        better = gain > best_gain
        best_gain[better] = gain[better]
        best_scale[better] = scale[better]
        best_zero[better] = zero[better]
    q = _round(blocks, best_scale, best_zero, bits)
    q += best_zero[:, None]
    num_blocks = rows.shape[1] // BLOCK
    return IntegerBlocks(
        q.astype(np.uint8).reshape(rows.shape),
        best_scale.reshape(-1, num_blocks),
        best_zero.astype(np.uint8).reshape(-1, num_blocks),
    )


def _fit_width(
    blocks: NDArray[np.float32],
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    width: np.float32,
    bits: int,
    scale_dtype: Any,
) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.float32]]:
    """Scale, zero point and |w|^2 - squared error of each block when its range is scaled by `width`."""
    levels = np.float32(2**bits - 1)
    scale = (high - low) * width / levels
    scale[scale == 0] = 1
    zero = np.clip(np.rint(-low * width / scale), 0, levels)
    t = _round(blocks, scale, zero, bits)
    dot = np.einsum("ij,ij->i", blocks, t)
    square = np.einsum("ij,ij->i", t, t)
    fitted = np.where(dot > 0, dot / np.maximum(square, 1), scale).astype(scale_dtype)
    fitted[fitted == 0] = 1
    stored = fitted.astype(np.float32)
    return fitted, zero, stored * (2 * dot - stored * square)


def _round(
    blocks: NDArray[np.float32], scale: NDArray[Any], zero: NDArray[np.float32], bits: int
) -> NDArray[np.float32]:
    """The integers q - zero_point, as float32."""
    t = blocks / scale.astype(np.float32)[:, None]
    np.rint(t, out=t)
    return np.clip(t, -zero[:, None], (2**bits - 1) - zero[:, None], out=t)
