"""Two 4-bit values per byte, as ONNX stores INT4 and UINT4: the first value in the low half."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack_nibbles(values: NDArray[Any]) -> NDArray[np.uint8]:
    """[ceil(size / 2)] uint8: the values (uint8 0..15, or int8 -8..7) in C order, two per byte.

    An odd number of values is padded with a zero.
    """
    flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    packed = flat[0::2] & np.uint8(0x0F)
    packed[: flat.size // 2] |= flat[1::2] << np.uint8(4)
    return packed


def unpack_nibbles(packed: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """The uint8 values 0..15 of `shape` that `pack_nibbles` packed (signed values come back modulo 16)."""
    size = int(np.prod(shape))
    values = np.empty(2 * packed.size, dtype=np.uint8)
    values[0::2] = packed & 0x0F
    values[1::2] = packed >> 4
    return values[:size].reshape(shape)
