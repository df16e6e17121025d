"""Nodes and constants that nothing reads any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass

from .base import LoweringPass, PassReport

if TYPE_CHECKING:
    from redraft.export.graph_spec import GraphSpec

_UNREAD = ("attention_bias", "attention_bias_local", "write_pos", "position_ids")


class DropDeadCode(LoweringPass):
    """Also takes away the canonical inputs that only the replaced attention read."""

    name = "drop-dead-code"

    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Remove unread nodes, initialisers and inputs."""
        before = len(model.graph) + len(model.graph.inputs)
        RemoveUnusedNodesPass()(model)
        for value in list(model.graph.inputs):
            if value.name in _UNREAD and not value.uses():
                model.graph.inputs.remove(value)
        return PassReport(self.name, before - len(model.graph) - len(model.graph.inputs))
