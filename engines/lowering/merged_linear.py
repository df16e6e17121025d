"""Several linear layers of the same input -> one of all their output columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from .matching import MICROSOFT, add_initializer, constant, is_initializer, only_consumer
from .stored_tensors import concatenated, dims

_SHARED = ("K", "bits", "block_size", "accuracy_level")


@dataclass(frozen=True, slots=True)
class Projection:
    """A lowered linear layer over a constant weight, with the constant bias that is added to it, if any."""

    node: ir.Node  # FusedMatMul or MatMulNBits
    bias: ir.Value | None  # [out]
    output: ir.Value
    size: int  # out


def match_projection(output: ir.Value | None) -> Projection | None:
    """The linear layer that makes `output`, its bias included.

    None where it is none or its product is used elsewhere too.
    """
    if output is None:
        return None
    node, bias = output.producer(), None
    if node is not None and node.op_type == "Add" and node.domain in ("", "ai.onnx"):
        left, right = node.inputs
        product, bias = (left, right) if constant(right) is not None else (right, left)
        if (
            product is None
            or bias is None
            or not is_initializer(bias)
            or only_consumer(product, "Add") is not node
        ):
            return None
        node = product.producer()
    if node is None or node.domain != MICROSOFT or node.op_type not in ("FusedMatMul", "MatMulNBits"):
        return None
    weight = node.inputs[1]
    if weight is None or not all(value is None or is_initializer(value) for value in node.inputs[1:]):
        return None
    return Projection(node, bias, output, dims(weight)[0])


def mergeable(projections: Sequence[Projection | None]) -> str | None:
    """Why these layers cannot become one, or None where they can."""
    found = [projection for projection in projections if projection is not None]
    if len(found) < len(projections):
        return "an input does not come straight from a linear layer"
    first = found[0].node
    if any(item.node.inputs[0] is not first.inputs[0] for item in found):
        return "the layers have different inputs"
    if len({_form(item.node) for item in found}) > 1:
        return "the layers' weights are stored in different forms"
    if len({item.bias is None for item in found}) > 1:
        return "some of the layers have a bias and some have none"
    return None


def merge(model: ir.Model, projections: Sequence[Projection], name: str) -> ir.Value:
    """Add the one layer in front of the first one; the old nodes stay until nothing reads them."""
    graph, first = model.graph, projections[0].node
    inputs: list[ir.Value | None] = [first.inputs[0]]
    for position in range(1, len(first.inputs)):
        parts = [item.node.inputs[position] for item in projections]
        inputs.append(_joined(model, parts, f"{name}.{_PARTS[first.op_type][position - 1]}"))
    attributes = dict(first.attributes)
    if first.op_type == "MatMulNBits":
        attributes["N"] = ir.AttrInt64("N", sum(item.size for item in projections))
    merged = ir.node(first.op_type, inputs, domain=MICROSOFT, name=name)
    for attribute in attributes.values():
        merged.attributes[attribute.name] = attribute
    merged.outputs[0].name = name
    graph.insert_before(first, merged)
    if projections[0].bias is None:
        return merged.outputs[0]
    bias = _joined(model, [item.bias for item in projections], f"{name}.bias")
    add = ir.node("Add", [merged.outputs[0], bias], name=f"{name}/biased")
    graph.insert_after(merged, add)
    return add.outputs[0]


_PARTS = {"FusedMatMul": ("weight",), "MatMulNBits": ("codes", "scale", "zero_point")}


def _joined(model: ir.Model, parts: Sequence[ir.Value | None], name: str) -> ir.Value:
    tensors = [part.const_value for part in parts if part is not None]
    held = [tensor for tensor in tensors if tensor is not None]
    assert len(held) == len(parts)
    return add_initializer(model, name, concatenated(name, held))


def _form(node: ir.Node) -> tuple[object, ...]:
    shared = tuple((key, node.attributes[key].value) for key in _SHARED if key in node.attributes)
    types = tuple(None if value is None else value.dtype for value in node.inputs[1:])
    return (node.op_type, len(node.inputs), shared, types)
