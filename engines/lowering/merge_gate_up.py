"""The gate and up projections of a gated MLP -> one MatMulNBits and a Split.

In float32 both together only read the same bytes as each alone, and the Split costs what is saved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from .base import LoweringPass, PassReport
from .matching import MICROSOFT, add_initializer
from .merged_linear import Projection, match_projection, merge, mergeable

if TYPE_CHECKING:
    from redraft.export.graph_spec import GraphSpec


class MergeGateUp(LoweringPass):
    """Applies to any two such layers of one input that no attention has packed already."""

    name = "merge-gate-up"

    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Merge layers that come in pairs."""
        report = PassReport(self.name)
        by_input: dict[ir.Value, list[Projection]] = {}
        for node in model.graph:
            if node.domain == MICROSOFT and node.op_type == "MatMulNBits":
                projection = match_projection(node.outputs[0])
                if projection is not None and node.inputs[0] is not None:
                    by_input.setdefault(node.inputs[0], []).append(projection)
        for pair in by_input.values():
            if len(pair) != 2 or any(projection.output.is_graph_output() for projection in pair):
                continue
            reason = mergeable(pair)
            if reason is not None:
                report.refuse(pair[0].node, reason)
                continue
            self._split(model, pair)
            report.changed += 1
        return report

    def _split(self, model: ir.Model, pair: list[Projection]) -> None:
        name = f"{pair[0].node.name}+{pair[1].node.name}"
        merged = merge(model, pair, name)
        sizes = np.array([item.size for item in pair], np.int64)
        lengths = add_initializer(model, f"split.{'_'.join(map(str, sizes))}", sizes)
        split = ir.node("Split", [merged, lengths], {"axis": -1}, num_outputs=2, name=f"{name}/split")
        producer = merged.producer()
        assert producer is not None
        model.graph.insert_after(producer, split)
        for projection, part in zip(pair, split.outputs, strict=True):
            part.type = projection.output.type
            ir.convenience.replace_all_uses_with(projection.output, part)
