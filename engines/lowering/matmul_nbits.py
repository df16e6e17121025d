"""DequantizeLinear + Transpose + MatMul -> com.microsoft MatMulNBits.

Packed UINT4 rows [out, in] are byte for byte what MatMulNBits takes: the stored tensor is only seen as
another type. Signed codes (source-exact) become unsigned ones with the default zero point of half the
range.

Activations are quantised to int8 inside the kernel, three to four times as fast as float32 activations for
one to eight rows. Source-exact weights keep float32 activations: they stand for a file's own arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from .base import LoweringPass, PassReport
from .linear_match import BlockedWeight, Linear, match_blocked, match_linear
from .matching import MICROSOFT, add_initializer
from .stored_tensors import dims, lazy, reinterpret, stored_bytes

if TYPE_CHECKING:
    from redraft.export.graph_spec import GraphSpec

INT8_ACTIVATIONS = 4
"""`accuracy_level`: activations are quantised to int8, block by block, inside the kernel."""
_BITS = {ir.DataType.UINT4: 4, ir.DataType.INT4: 4, ir.DataType.UINT8: 8, ir.DataType.INT8: 8}
_SIGNED = (ir.DataType.INT4, ir.DataType.INT8)


class FuseMatMulNBits(LoweringPass):
    """One MatMulNBits for each linear layer over a blocked weight."""

    name = "matmul-nbits"

    def __init__(self, *, int8_activations: bool = True) -> None:
        self._int8_activations = int8_activations

    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Rewrite every linear layer whose weight is dequantised block by block from constants."""
        report = PassReport(self.name)
        for node in list(model.graph):
            linear = match_linear(node)
            blocked = None if linear is None else match_blocked(linear.weight)
            if linear is None or blocked is None:
                continue
            reason = _obstacle(node, blocked)
            if reason is not None:
                report.refuse(node, reason)
                continue
            self._rewrite(model, linear, blocked)
            report.changed += 1
        return report

    def _rewrite(self, model: ir.Model, linear: Linear, blocked: BlockedWeight) -> None:
        out, width = dims(blocked.codes)
        bits = _BITS[_dtype(blocked.codes)]
        inputs = [
            linear.x,
            add_initializer(model, f"{blocked.codes.name}.nbits", packed_codes(blocked)),
            blocked.scale,
        ]
        zero_point = packed_zero_points(blocked)
        if zero_point is not None:
            inputs.append(add_initializer(model, f"{blocked.codes.name}.nbits_zero", zero_point))
        attributes = {"K": width, "N": out, "bits": bits, "block_size": blocked.block}
        if self._int8_activations and not _is_exact(linear.matmul):
            attributes["accuracy_level"] = INT8_ACTIVATIONS
        fused = ir.node("MatMulNBits", inputs, attributes, domain=MICROSOFT, name=linear.matmul.name)
        replace_node(model, linear.matmul, fused)


def packed_codes(blocked: BlockedWeight) -> ir.TensorProtocol:
    """[out, in / block, block · bits / 8] uint8 for MatMulNBits."""
    codes = blocked.codes.const_value
    assert codes is not None
    out, width = dims(blocked.codes)
    bits = _BITS[codes.dtype]
    shape = (out, width // blocked.block, blocked.block * bits // 8)
    name = f"{blocked.codes.name}.nbits"
    if codes.dtype in _SIGNED:
        flip = np.uint8(0x88 if bits == 4 else 0x80)
        return lazy(name, ir.DataType.UINT8, shape, lambda: stored_bytes(codes) ^ flip)
    return reinterpret(codes, name, ir.DataType.UINT8, shape)


def packed_zero_points(blocked: BlockedWeight) -> ir.TensorProtocol | None:
    """[out, ceil(in / block · bits / 8)] uint8, each row packed from a whole byte.

    None for the default of half the range.
    """
    if blocked.zero_point is None:
        return None
    zeros = blocked.zero_point.const_value
    assert zeros is not None
    out, blocks = dims(blocked.zero_point)
    bits = _BITS[zeros.dtype]
    shape = (out, -(-blocks * bits // 8))
    name = f"{blocked.codes.name}.nbits_zero"
    if blocks * bits % 8 == 0:
        return reinterpret(zeros, name, ir.DataType.UINT8, shape)
    return lazy(name, ir.DataType.UINT8, shape, lambda: _repacked_rows(stored_bytes(zeros), out, blocks))


def _repacked_rows(flat: NDArray[np.uint8], rows: int, columns: int) -> NDArray[np.uint8]:
    """Nibbles packed across rows -> nibbles packed row by row, a spare one left zero."""
    nibbles = np.stack([flat & 15, flat >> 4], -1).reshape(-1)[: rows * columns].reshape(rows, columns)
    padded = np.pad(nibbles, ((0, 0), (0, columns % 2)))
    packed: NDArray[np.uint8] = padded[:, 0::2] | (padded[:, 1::2] << 4)
    return packed


def replace_node(model: ir.Model, old: ir.Node, new: ir.Node) -> None:
    """Put `new` in the place of `old`; both have one output."""
    model.graph.insert_before(old, new)
    before, after = old.outputs[0], new.outputs[0]
    after.type, after.shape = before.type, before.shape
    ir.convenience.replace_all_uses_with(before, after, replace_graph_outputs=True)
    name, before.name = before.name, None
    after.name = name
    model.graph.remove(old, safe=True)
    if new.domain == MICROSOFT:
        model.opset_imports.setdefault(MICROSOFT, 1)


def _dtype(value: ir.Value) -> ir.DataType:
    assert value.const_value is not None
    return value.const_value.dtype


def _is_exact(matmul: ir.Node) -> bool:
    return matmul.metadata_props.get("redraft.format") == "source-exact"


def _obstacle(matmul: ir.Node, blocked: BlockedWeight) -> str | None:
    dtype = _dtype(blocked.codes)
    if dtype not in _BITS:
        return f"codes are {dtype.name}, MatMulNBits takes 4- and 8-bit integers"
    if dtype in _SIGNED and blocked.zero_point is not None:
        return "signed codes with zero points"
    if _is_exact(matmul) and _BITS[dtype] == 8:
        return "source-exact 8-bit weights: MatMulNBits is many times slower with float32 activations"
    block = blocked.block
    if block < 16 or block & (block - 1):
        return f"blocks of {block}, MatMulNBits takes powers of two from 16"
    if dims(blocked.codes)[1] % block:
        return "the last block of a row is not whole"
    return None
