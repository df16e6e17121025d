"""Looking at onnx-ir graphs: producers, consumers, constants, attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

MICROSOFT = "com.microsoft"


def producer(value: ir.Value | None, *kinds: str) -> ir.Node | None:
    """The node that makes `value`, if it is an ONNX operator of one of these kinds (any by default)."""
    node = None if value is None else value.producer()
    if node is None or node.domain not in ("", "ai.onnx"):
        return None
    return node if not kinds or node.op_type in kinds else None


def only_consumer(value: ir.Value, *kinds: str) -> ir.Node | None:
    """The one node that reads `value`, if it is of one of these kinds and `value` is not a graph output."""
    consumers = [use.node for use in value.uses()]
    if value.is_graph_output() or len(consumers) != 1:
        return None
    node = consumers[0]
    return node if node.domain in ("", "ai.onnx") and node.op_type in kinds else None


def constant(value: ir.Value | None) -> ir.TensorProtocol | None:
    """The tensor of an initialiser (or Constant node), else None."""
    return None if value is None else ir.convenience.get_const_tensor(value)


def constant_list(value: ir.Value | None) -> list[Any] | None:
    """The flat values of a constant, else None."""
    tensor = constant(value)
    return None if tensor is None else tensor.numpy().ravel().tolist()


def int_attribute(node: ir.Node, name: str, default: int) -> int:
    """An integer attribute, or `default` where it is absent."""
    attribute = node.attributes.get(name)
    return default if attribute is None else attribute.as_int()


def float_attribute(node: ir.Node, name: str, default: float) -> float:
    """A float attribute, or `default` where it is absent."""
    attribute = node.attributes.get(name)
    return default if attribute is None else attribute.as_float()


def permutation(node: ir.Node) -> list[int] | None:
    """A Transpose's permutation, None where it only reverses the axes."""
    attribute = node.attributes.get("perm")
    return None if attribute is None else list(attribute.as_ints())


def add_initializer(model: ir.Model, name: str, tensor: NDArray[Any] | ir.TensorProtocol) -> ir.Value:
    """A new initialiser; equal small constants of the same name are shared."""
    existing = model.graph.initializers.get(name)
    if existing is not None:
        return existing
    held = ir.tensor(np.ascontiguousarray(tensor), name=name) if isinstance(tensor, np.ndarray) else tensor
    value = ir.Value(
        name=name, type=ir.TensorType(held.dtype), shape=ir.Shape(held.shape.numpy()), const_value=held
    )
    model.graph.register_initializer(value)
    return value


def node_after(model: ir.Model, anchor: ir.Node, node: ir.Node) -> ir.Node:
    """Insert `node` behind `anchor`."""
    model.graph.insert_after(anchor, node)
    return node


def static_dim(value: ir.Value | None, axis: int) -> int | None:
    """The known size of an axis, else None."""
    if value is None or value.shape is None or not -len(value.shape) <= axis < len(value.shape):
        return None
    dim = value.shape[axis]
    return dim if isinstance(dim, int) else None


def is_initializer(value: ir.Value | None) -> bool:
    """Whether `value` is a constant of the graph."""
    return value is not None and value.const_value is not None and not value.is_graph_input()
