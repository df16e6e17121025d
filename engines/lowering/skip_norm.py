"""Add + RMSNormalization -> com.microsoft SkipSimplifiedLayerNormalization, which also gives the sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from .base import LoweringPass, PassReport
from .matching import MICROSOFT, float_attribute, int_attribute, is_initializer, producer

if TYPE_CHECKING:
    from redraft.export.graph_spec import GraphSpec

_SUM = 3  # the output that carries the sum


class FuseSkipNorm(LoweringPass):
    """The residual sum and the norm that follows it, in one pass over the row."""

    name = "skip-norm"

    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Rewrite every norm of a sum of two tensors of the residual's shape."""
        report = PassReport(self.name)
        for node in list(model.graph):
            if node.op_type != "RMSNormalization" or node.domain not in ("", "ai.onnx"):
                continue
            add = producer(node.inputs[0], "Add")
            if add is None or any(is_initializer(value) for value in add.inputs):
                continue
            if int_attribute(node, "axis", -1) != -1:
                report.refuse(node, "the norm is not over the last axis")
                continue
            self._rewrite(model, node, add)
            report.changed += 1
        return report

    def _rewrite(self, model: ir.Model, norm: ir.Node, add: ir.Node) -> None:
        fused = ir.node(
            "SkipSimplifiedLayerNormalization",
            [add.inputs[0], add.inputs[1], norm.inputs[1]],
            {"epsilon": float_attribute(norm, "epsilon", 1e-5)},
            domain=MICROSOFT,
            num_outputs=4,
            name=norm.name,
        )
        fused.outputs[1].name = fused.outputs[2].name = ""
        model.graph.insert_before(norm, fused)
        for old, new in ((norm.outputs[0], fused.outputs[0]), (add.outputs[0], fused.outputs[_SUM])):
            new.type, new.shape = old.type, old.shape
            ir.convenience.replace_all_uses_with(old, new, replace_graph_outputs=True)
            name, old.name = old.name, None
            new.name = name
        model.graph.remove([norm, add], safe=True)
        model.opset_imports.setdefault(MICROSOFT, 1)
