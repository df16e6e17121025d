"""Nibbles: the byte layout of ONNX's 4-bit types."""

from __future__ import annotations

import numpy as np
import onnx
from hypothesis import given
from hypothesis import strategies as st

from redraft.export.quantize import pack_nibbles, unpack_nibbles


@given(st.lists(st.integers(0, 15), max_size=33))
def test_unpacking_gives_back_what_was_packed(values: list[int]) -> None:
    array = np.array(values, dtype=np.uint8)
    np.testing.assert_array_equal(unpack_nibbles(pack_nibbles(array), array.shape), array)


def test_bytes_are_those_that_onnx_reads() -> None:
    signed = np.arange(-8, 7, dtype=np.int8).reshape(3, 5)  # an odd number
    for values, kind in (
        (signed, onnx.TensorProto.INT4),
        ((signed + 8).view(np.uint8), onnx.TensorProto.UINT4),
    ):
        tensor = onnx.TensorProto(data_type=kind, dims=values.shape, raw_data=pack_nibbles(values).tobytes())
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor).astype(int), values.astype(int))
