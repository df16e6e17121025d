"""DequantizeLinear + Gather -> com.microsoft GatherBlockQuantized.

Only the rows asked for are dequantised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from .base import LoweringPass, PassReport
from .linear_match import match_blocked
from .matching import MICROSOFT, add_initializer, int_attribute
from .matmul_nbits import replace_node
from .stored_tensors import dims, lazy, stored_bytes

if TYPE_CHECKING:
    from redraft.export.graph_spec import GraphSpec


class FuseGatherBlockQuantized(LoweringPass):
    """The embedding of a quantised table."""

    name = "gather-block-quantized"

    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Rewrite every Gather along rows of a table that is dequantised block by block from constants."""
        report = PassReport(self.name)
        for node in list(model.graph):
            table = node.inputs[0] if node.op_type == "Gather" and node.inputs else None
            blocked = None if table is None else match_blocked(table)
            if blocked is None or int_attribute(node, "axis", 0):
                continue
            codes = blocked.codes.const_value
            assert codes is not None
            inputs: list[ir.Value | None] = [blocked.codes, node.inputs[1], blocked.scale]
            attributes = {"block_size": blocked.block, "gather_axis": 0, "quantize_axis": 1}
            if codes.dtype == ir.DataType.INT8:
                # Unsigned with the default zero point of 128: the operator has no int8 tables.
                inputs[0] = add_initializer(model, f"{blocked.codes.name}.unsigned", _unsigned(blocked.codes))
            if codes.dtype in (ir.DataType.INT8, ir.DataType.UINT8):
                attributes["bits"] = 8
            if blocked.zero_point is not None:
                inputs.append(blocked.zero_point)
            fused = ir.node("GatherBlockQuantized", inputs, attributes, domain=MICROSOFT, name=node.name)
            replace_node(model, node, fused)
            report.changed += 1
        return report


def _unsigned(codes: ir.Value) -> ir.TensorProtocol:
    tensor = codes.const_value
    assert tensor is not None
    name = f"{codes.name}.unsigned"
    return lazy(name, ir.DataType.UINT8, dims(codes), lambda: stored_bytes(tensor) ^ np.uint8(0x80))
