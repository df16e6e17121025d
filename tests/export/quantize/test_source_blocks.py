"""The split of a file's own blocks into a symmetric part and a constant."""

from __future__ import annotations

import numpy as np
import pytest

from redraft._core.errors import UnsupportedError
from redraft.export.checkpoint.base import BlockQuantized
from redraft.export.quantize import source_blocks


def _stored(bits: int, block: int, *, symmetric: bool) -> BlockQuantized:
    rng = np.random.default_rng(bits + block)
    scale = rng.uniform(0.01, 0.1, (6, 96 // block)).astype(np.float32)
    minimum = -scale * 2 ** (bits - 1) if symmetric else -rng.uniform(0, 1, scale.shape).astype(np.float32)
    return BlockQuantized(rng.integers(0, 2**bits, (6, 96)).astype(np.uint8), scale, minimum, block, bits)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("block", [16, 32])
@pytest.mark.parametrize("bits", [4, 5, 6, 7, 8])
def test_split_equals_the_files_formula(bits: int, block: int, symmetric: bool) -> None:
    stored = _stored(bits, block, symmetric=symmetric)
    blocks = source_blocks("w", stored)
    expected = stored.q.reshape(6, -1, block) * stored.scale[:, :, None] + stored.minimum[:, :, None]
    np.testing.assert_allclose(blocks.dequantize(), expected.reshape(6, 96), rtol=1e-5, atol=1e-5)
    assert (blocks.constant is None) == symmetric
    assert blocks.bits == (4 if bits == 4 else 8)
    if bits == 4:
        assert blocks.q.min() >= -8
        assert blocks.q.max() <= 7


@pytest.mark.parametrize(("bits", "block"), [(3, 32), (4, 64)])
def test_other_layouts_are_refused_by_name(bits: int, block: int) -> None:
    stored = BlockQuantized(
        np.zeros((2, 64), np.uint8), np.ones((2, 1), np.float32), np.zeros((2, 1), np.float32), block, bits
    )
    with pytest.raises(UnsupportedError, match=f"'head' is stored with {bits} bits in blocks of {block}"):
        source_blocks("head", stored)
