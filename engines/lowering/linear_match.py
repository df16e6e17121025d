"""The canonical linear layer: MatMul(x, Transpose(w)) with w [out, in], stored or dequantised."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from .matching import int_attribute, is_initializer, permutation, producer


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear layer in the graph: `matmul` multiplies `x` with the transpose of `weight` [out, in]."""

    matmul: ir.Node
    x: ir.Value
    weight: ir.Value


@dataclass(frozen=True, slots=True)
class BlockedWeight:
    """A blocked DequantizeLinear over constants: codes [out, in], scale and zero point [out, in / block]."""

    codes: ir.Value
    scale: ir.Value
    zero_point: ir.Value | None
    block: int


def match_linear(node: ir.Node) -> Linear | None:
    """The linear layer that this MatMul is, or None."""
    if node.op_type != "MatMul" or node.domain not in ("", "ai.onnx"):
        return None
    x, transposed = node.inputs
    transpose = producer(transposed, "Transpose")
    if x is None or transpose is None or permutation(transpose) != [1, 0]:
        return None
    weight = transpose.inputs[0]
    return None if weight is None else Linear(node, x, weight)


def match_blocked(weight: ir.Value) -> BlockedWeight | None:
    """The blocks of a matrix that a DequantizeLinear along its last axis makes from constants, or None."""
    node = producer(weight, "DequantizeLinear")
    if node is None:
        return None
    codes, scale = node.inputs[0], node.inputs[1]
    zero_point = node.inputs[2] if len(node.inputs) > 2 else None
    block = int_attribute(node, "block_size", 0)
    if not block or not is_initializer(codes) or not is_initializer(scale):
        return None
    if zero_point is not None and not is_initializer(zero_point):
        return None
    assert codes is not None
    assert scale is not None
    if codes.shape is None or len(codes.shape) != 2 or int_attribute(node, "axis", 1) not in (1, -1):
        return None
    return BlockedWeight(codes, scale, zero_point, block)
