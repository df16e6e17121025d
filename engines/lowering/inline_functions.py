"""Model-local functions -> their nodes, so that the later passes and the backend see plain operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir
from onnx_ir.passes.common import InlinePass, RemoveUnusedFunctionsPass

from .base import LoweringPass, PassReport

if TYPE_CHECKING:
    from redraft.export.graph_spec import GraphSpec


class InlineFunctions(LoweringPass):
    """Puts the body of `redraft::RdkRedistribute` in the place of its call."""

    name = "inline-functions"

    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Inline every call of a function of this model."""
        calls = sum(node.op_identifier() in model.functions for node in model.graph)
        if calls:
            InlinePass()(model)
            RemoveUnusedFunctionsPass()(model)  # type: ignore[no-untyped-call]
        return PassReport(self.name, calls)
