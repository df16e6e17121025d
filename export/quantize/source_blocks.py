"""A block-quantised file's own weights, split into a symmetric part and a per-block constant.

The file stores w = s * q + m. With the offset z = 2^(bits - 1) this is w = s * (q - z) + c, c = m + z * s, so

    x . w = x . DequantizeLinear(q - z, s) + blocksum(x) . c

where the first product has signed integers and no zero point (what TensorRT takes), and the second is small.
Where the file's format is symmetric, c is zero and the second product disappears.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import UnsupportedError
from redraft.export.checkpoint.base import BlockQuantized


@dataclass(frozen=True, slots=True)
class SourceBlocks:
    """A matrix [out, in] as s * q + c, constant per block."""

    q: NDArray[np.int8]  # [out, in]: -8..7 where bits is 4
    scale: NDArray[np.float32]  # [out, in / block]
    constant: NDArray[np.float32] | None  # [out, in / block], None where all are zero
    block: int
    bits: int  # stored: 4 or 8

    def dequantize(self) -> NDArray[np.float32]:
        """[out, in] float32."""
        out, width = self.q.shape
        w = self.q.reshape(out, -1, self.block).astype(np.float32) * self.scale[:, :, None]
        if self.constant is not None:
            w += self.constant[:, :, None]
        return w.reshape(out, width)


def source_blocks(name: str, stored: BlockQuantized) -> SourceBlocks:
    """The exact split of a stored tensor: 4-bit values stay 4-bit, 5 to 8 bits become int8.

    UnsupportedError, naming the tensor, for other widths and for blocks that are not of 16 or 32 weights.
    """
    if not 4 <= stored.bits <= 8 or stored.block not in (16, 32):
        raise UnsupportedError(
            f"source-exact: '{name}' is stored with {stored.bits} bits in blocks of {stored.block}; "
            "4 to 8 bits in blocks of 16 or 32 are supported",
            hint="choose int4 or int8 for this part",
        )
    offset = 1 << (stored.bits - 1)
    constant = stored.minimum + np.float32(offset) * stored.scale
    return SourceBlocks(
        q=(stored.q.astype(np.int16) - offset).astype(np.int8),
        scale=stored.scale,
        constant=constant if constant.any() else None,
        block=stored.block,
        bits=4 if stored.bits == 4 else 8,
    )
