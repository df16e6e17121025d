"""GraphBuilder: appends named nodes and initializers to one ONNX graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from redraft._core.tensor_spec import TensorSpec

from .weights_writer import WeightsWriter

FLOAT = ir.DataType.FLOAT

DATA_TYPES: dict[str, ir.DataType] = {
    "float32": ir.DataType.FLOAT,
    "float16": ir.DataType.FLOAT16,
    "bfloat16": ir.DataType.BFLOAT16,
    "int64": ir.DataType.INT64,
}
"""TensorSpec dtype -> ONNX type."""


class GraphBuilder:
    """Builds one graph. Every node has a name; a value is called like the node that makes it.

    Values carry their element type. Integer constants (shapes, axes) stay inside the model file, because
    shape inference reads them; weights go through the writer.
    """

    def __init__(self, name: str, writer: WeightsWriter, sizes: Mapping[str, int]) -> None:
        self.graph = ir.Graph([], [], nodes=[], opset_imports={"": 24}, name=name)
        self.functions: list[ir.Function] = []
        self._writer = writer
        self._sizes = sizes
        self._ints: dict[tuple[int, ...], ir.Value] = {}

    def input(self, spec: TensorSpec) -> ir.Value:
        """Declare a graph input."""
        value = ir.Value(name=spec.name, shape=self._shape(spec), type=ir.TensorType(DATA_TYPES[spec.dtype]))
        self.graph.inputs.append(value)
        return value

    def output(self, spec: TensorSpec, value: ir.Value) -> None:
        """Make `value` the graph output that `spec` describes; it takes the output's name."""
        assert value.dtype == DATA_TYPES[spec.dtype], f"{spec.name}: {value.dtype}"
        value.name = spec.name
        value.shape = self._shape(spec)
        self.graph.outputs.append(value)

    def op(
        self,
        op_type: str,
        inputs: Sequence[ir.Value],
        name: str,
        *,
        dtype: ir.DataType | None = None,
        domain: str = "",
        metadata: Mapping[str, str] | None = None,
        **attributes: Any,
    ) -> ir.Value:
        """Append a node with one output of `dtype` (default: the first input's)."""
        output = ir.Value(name=name, type=ir.TensorType(dtype or inputs[0].dtype or FLOAT))
        node = ir.node(
            op_type,
            inputs=inputs,
            attributes=attributes,
            domain=domain,
            outputs=[output],
            name=name,
            metadata_props=dict(metadata or {}),
        )
        self.graph.append(node)
        return output

    def cast(self, value: ir.Value, dtype: ir.DataType, name: str) -> ir.Value:
        """`value` as `dtype`; no node where it is that already."""
        if value.dtype == dtype:
            return value
        return self.op("Cast", [value], name, dtype=dtype, to=dtype)

    def ints(self, *values: int) -> ir.Value:
        """A constant int64 vector, shared by all who ask for the same one."""
        if values not in self._ints:
            name = "ints." + "_".join(str(value) for value in values)
            self._ints[values] = self._initializer(ir.tensor(np.array(values, dtype=np.int64), name=name))
        return self._ints[values]

    def scalar(self, value: float, name: str, dtype: ir.DataType = FLOAT) -> ir.Value:
        """A constant of rank 0."""
        return self._initializer(ir.tensor(np.array(value, dtype=dtype.numpy()), name=name))

    def weight(self, name: str, array: NDArray[Any]) -> ir.Value:
        """An external initializer with the array's own dtype."""
        dtype = ir.DataType.from_numpy(array.dtype)
        return self.stream(name, dtype, array.shape, [array])

    def stream(
        self, name: str, dtype: ir.DataType, shape: Sequence[int], chunks: Iterable[NDArray[Any]]
    ) -> ir.Value:
        """An external initializer whose bytes come in chunks."""
        return self._initializer(self._writer.write(name, dtype, shape, chunks))

    def _initializer(self, tensor: ir.TensorProtocol) -> ir.Value:
        value = ir.Value(
            name=tensor.name,
            shape=ir.Shape(tensor.shape.numpy()),
            type=ir.TensorType(tensor.dtype),
            const_value=tensor,
        )
        self.graph.register_initializer(value)
        return value

    def _shape(self, spec: TensorSpec) -> ir.Shape:
        return ir.Shape(
            [self._sizes.get(axis, axis) if isinstance(axis, str) else axis for axis in spec.axes]
        )
