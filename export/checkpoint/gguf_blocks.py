"""Tensors of a GGUF file as blocks of integers: w = scale * q + minimum, exactly as the file stores them.

The layouts are those of ggml's block types. Values agree with the gguf package's dequantisation bit for bit,
but for Q6_K, where scale * q + minimum rounds once more (one unit in the last place).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .base import BlockQuantized

Bytes = NDArray[np.uint8]
_Parts = tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]


def block_quantized(data: Bytes, type_name: str) -> BlockQuantized | None:
    """`data`: [out, bytes of a row]. None for a type that is not stored as q, scale and minimum."""
    if type_name not in _TYPES:
        return None
    unpack, group_bytes, block, bits = _TYPES[type_name]
    rows = data.shape[0]
    q, scale, minimum = unpack(np.ascontiguousarray(data).reshape(-1, group_bytes))
    return BlockQuantized(
        q.reshape(rows, -1), scale.reshape(rows, -1), minimum.reshape(rows, -1), block=block, bits=bits
    )


def _half(data: Bytes) -> NDArray[np.float32]:
    """Two bytes a group as float32 [groups, 1]."""
    return np.ascontiguousarray(data).view(np.float16).astype(np.float32)


def _nibbles(data: Bytes) -> Bytes:
    """[groups, n] bytes -> [groups, 2 n]: all low nibbles, then all high ones."""
    return np.concatenate([data & 0x0F, data >> 4], axis=1)


def _fifth_bits(data: Bytes) -> Bytes:
    """Four bytes a group -> bit 4 of the 32 values."""
    return np.unpackbits(data, axis=1, bitorder="little") << np.uint8(4)


def _q4_0(data: Bytes) -> _Parts:
    scale = _half(data[:, :2])
    return _nibbles(data[:, 2:]), scale, -8 * scale


def _q4_1(data: Bytes) -> _Parts:
    return _nibbles(data[:, 4:]), _half(data[:, :2]), _half(data[:, 2:4])


def _q5_0(data: Bytes) -> _Parts:
    scale = _half(data[:, :2])
    return _nibbles(data[:, 6:]) | _fifth_bits(data[:, 2:6]), scale, -16 * scale


def _q5_1(data: Bytes) -> _Parts:
    return _nibbles(data[:, 8:]) | _fifth_bits(data[:, 4:8]), _half(data[:, :2]), _half(data[:, 2:4])


def _q8_0(data: Bytes) -> _Parts:
    scale = _half(data[:, :2])
    return data[:, 2:] ^ np.uint8(0x80), scale, -128 * scale  # int8 + 128 is the sign bit flipped


def _q4_k(data: Bytes) -> _Parts:
    """8 blocks of 32: two halves, 12 bytes of 6-bit scales and minima, 128 bytes of nibbles."""
    d, d_min = _half(data[:, :2]), _half(data[:, 2:4])
    low, middle, high = (data[:, 4 + 4 * part : 8 + 4 * part] for part in range(3))
    scales = np.concatenate([low & 0x3F, (high & 0x0F) | ((low >> 2) & 0x30)], axis=1)
    minima = np.concatenate([middle & 0x3F, (high >> 4) | ((middle >> 2) & 0x30)], axis=1)
    quants = data[:, 16:].reshape(-1, 4, 32)
    q = np.stack([quants & 0x0F, quants >> 4], axis=2)
    return q.reshape(len(data), -1), d * scales, -(d_min * minima)


def _q6_k(data: Bytes) -> _Parts:
    """A super-block of 16 blocks of 16: 128 bytes of low nibbles, 64 of high bit pairs, 16 int8 scales, one
    half.
    """
    low = data[:, :128].reshape(-1, 2, 64)
    pairs = data[:, 128:192].reshape(-1, 2, 1, 32)
    nibbles = np.stack([low & 0x0F, low >> 4], axis=2).reshape(-1, 2, 4, 32)
    high = (pairs >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)) & 3
    scale = _half(data[:, 208:]) * data[:, 192:208].view(np.int8).astype(np.float32)
    return (nibbles | (high << 4)).reshape(len(data), -1), scale, -32 * scale


_TYPES: dict[str, tuple[Callable[[Bytes], _Parts], int, int, int]] = {
    "Q4_0": (_q4_0, 18, 32, 4),
    "Q4_1": (_q4_1, 20, 32, 4),
    "Q4_K": (_q4_k, 144, 32, 4),
    "Q5_0": (_q5_0, 22, 32, 8),
    "Q5_1": (_q5_1, 24, 32, 8),
    "Q6_K": (_q6_k, 210, 16, 8),
    "Q8_0": (_q8_0, 34, 32, 8),
}
"""Type -> (unpack, bytes a group, block, bits of q as BlockQuantized stores it)."""
