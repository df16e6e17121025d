"""The query, key and value projections of a GroupQueryAttention -> one projection, which it reads packed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import LoweringPass, PassReport
from .matching import MICROSOFT
from .merged_linear import match_projection, merge, mergeable

if TYPE_CHECKING:
    import onnx_ir as ir

    from redraft.export.graph_spec import GraphSpec


class PackQkv(LoweringPass):
    """Applies where no norm stands between projections and attention."""

    name = "pack-qkv"

    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Rewrite every attention whose three inputs are projections of one tensor."""
        report = PassReport(self.name)
        for node in list(model.graph):
            if node.op_type != "GroupQueryAttention" or node.domain != MICROSOFT or node.inputs[1] is None:
                continue
            projections = [match_projection(value) for value in node.inputs[:3]]
            reason = mergeable(projections)
            if reason is not None:
                report.refuse(node, reason)
                continue
            found = [projection for projection in projections if projection is not None]
            node.replace_input_with(0, merge(model, found, f"{node.name}.qkv"))
            node.replace_input_with(1, None)
            node.replace_input_with(2, None)
            report.changed += 1
        return report
