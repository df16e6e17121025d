"""Transpose + MatMul over a stored matrix [out, in] -> com.microsoft FusedMatMul over the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from .base import LoweringPass, PassReport
from .linear_match import match_linear
from .matching import MICROSOFT, is_initializer
from .matmul_nbits import replace_node

if TYPE_CHECKING:
    from redraft.export.graph_spec import GraphSpec


class FuseTransposedWeights(LoweringPass):
    """No transposed copy is made while the session is loaded, on disk or in memory.

    A tied head needs no second matrix.
    """

    name = "transposed-weights"

    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Rewrite every linear layer whose weight is a float32 constant."""
        report = PassReport(self.name)
        for node in list(model.graph):
            linear = match_linear(node)
            if linear is None or not is_initializer(linear.weight):
                continue
            if linear.weight.dtype != ir.DataType.FLOAT:
                report.refuse(node, f"the weight is {linear.weight.dtype}, FusedMatMul takes float32")
                continue
            fused = ir.node(
                "FusedMatMul", [linear.x, linear.weight], {"transB": 1}, domain=MICROSOFT, name=node.name
            )
            replace_node(model, node, fused)
            report.changed += 1
        return report
