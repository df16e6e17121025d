"""New tensors from stored ones without reading them.

Other views of the same bytes, and lazily computed bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray


def reinterpret(
    tensor: ir.TensorProtocol, name: str, dtype: ir.DataType, shape: Sequence[int]
) -> ir.TensorProtocol:
    """The same bytes as another type and shape; an external tensor stays a reference to its file."""
    if isinstance(tensor, ir.ExternalTensor):
        return ir.ExternalTensor(
            location=tensor.location,
            offset=tensor.offset,
            length=tensor.length,
            dtype=dtype,
            shape=ir.Shape(shape),
            name=name,
            base_dir=tensor.base_dir,
        )
    return lazy(name, dtype, shape, lambda: stored_bytes(tensor))


def lazy(
    name: str, dtype: ir.DataType, shape: Sequence[int], make: Callable[[], NDArray[np.uint8]]
) -> ir.TensorProtocol:
    """A tensor whose stored bytes `make` computes when they are written.

    4-bit types come packed, two values a byte.
    """

    def tensor() -> ir.TensorProtocol:
        data = np.ascontiguousarray(make()).reshape(-1).view(np.uint8)
        if dtype.bitwidth < 8:
            return ir.PackedTensor(data, dtype, shape=ir.Shape(shape), name=name)
        return ir.Tensor(
            data.view(dtype.numpy()).reshape(tuple(shape)), dtype, shape=ir.Shape(shape), name=name
        )

    return ir.LazyTensor(tensor, dtype, ir.Shape(shape), name=name)


def concatenated(name: str, tensors: Sequence[ir.TensorProtocol]) -> ir.TensorProtocol:
    """The tensors joined along axis 0. Their other axes and types are equal, and rows end at whole bytes."""
    rows = sum(int(tensor.shape.numpy()[0]) for tensor in tensors)
    shape = (rows, *(int(dim) for dim in tensors[0].shape.numpy()[1:]))
    return lazy(
        name, tensors[0].dtype, shape, lambda: np.concatenate([stored_bytes(tensor) for tensor in tensors])
    )


def stored_bytes(tensor: ir.TensorProtocol) -> NDArray[np.uint8]:
    """The tensor's bytes as they are stored: little-endian, 4-bit types packed."""
    return np.frombuffer(tensor.tobytes(), np.uint8)


def dims(value: ir.Value | Any) -> tuple[int, ...]:
    """The fixed shape of a constant."""
    assert value.const_value is not None
    return tuple(int(dim) for dim in value.const_value.shape.numpy())
