"""Counter-based random numbers: the same key gives the same word on every device and in every order.

Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The 64-bit seed is the
key; the 128-bit counter is (round position, offset in the round, purpose, lane).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_MASK = 0xFFFFFFFF


class Purpose(IntEnum):
    """What a random word decides. Two decisions of a round never share a counter."""

    DRAFT = 0
    ACCEPT = 1
    RESIDUAL = 2
    BONUS = 3
    CALIBRATION = 4


def philox(
    seed: int, position: int, offset: int, purpose: int, lanes: NDArray[np.uint32] | list[int]
) -> NDArray[np.uint32]:
    """First word of Philox4x32-10 for each lane.

    Args:
        seed: key, 0 <= seed < 2**64.
        position: emitted position at which the round starts, < 2**32.
        offset: offset (or tree node) in the round, < 2**32.
        purpose: a `Purpose`.
        lanes: [n] uint32, the target id or 0.

    Returns:
        [n] uint32.
    """
    c3 = np.asarray(lanes, dtype=np.uint64)
    c0 = np.full_like(c3, position & 0xFFFFFFFF)
    c1 = np.full_like(c3, offset & 0xFFFFFFFF)
    c2 = np.full_like(c3, purpose & 0xFFFFFFFF)
    k0, k1 = seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (
            (p1 >> _SHIFT) ^ c1 ^ np.uint64(k0),
            p1 & _LOW,
            (p0 >> _SHIFT) ^ c3 ^ np.uint64(k1),
            p0 & _LOW,
        )
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return c0.astype(np.uint32)


def word(seed: int, position: int, offset: int, purpose: int, lane: int = 0) -> int:
    """The word that `philox` gives for one lane, in plain integers: a tenth of the array form's cost."""
    c0, c1, c2, c3 = position & _MASK, offset & _MASK, purpose & _MASK, lane & _MASK
    k0, k1 = seed & _MASK, (seed >> 32) & _MASK
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & _MASK, (p0 >> 32) ^ c3 ^ k1, p0 & _MASK
        k0, k1 = (k0 + _W0) & _MASK, (k1 + _W1) & _MASK
    return c0


def uniform(seed: int, position: int, offset: int, purpose: int, lane: int = 0) -> float:
    """One number in [0, 1): the word scaled by 2**-32."""
    return word(seed, position, offset, purpose, lane) * 2.0**-32
