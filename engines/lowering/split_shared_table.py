"""A matrix that an embedding and a head share -> two constants over the same bytes of the file.

A session packs the head's matrix and lets go of the stored one. Were it the embedding's too, it would have
to stay, and every page that packing touched would stay in memory with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from .base import LoweringPass, PassReport
from .matching import MICROSOFT, add_initializer, is_initializer
from .stored_tensors import dims, reinterpret

if TYPE_CHECKING:
    from redraft.export.graph_spec import GraphSpec


class SplitSharedTable(LoweringPass):
    """`save_model` writes the bytes once."""

    name = "split-shared-table"

    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Give every FusedMatMul a constant of its own where another kind of node reads its weight too."""
        report = PassReport(self.name)
        for node in list(model.graph):
            if node.op_type != "FusedMatMul" or node.domain != MICROSOFT:
                continue
            weight = node.inputs[1]
            if weight is None or not is_initializer(weight):
                continue
            if all(use.node.op_type == "FusedMatMul" for use in weight.uses()):
                continue
            tensor = weight.const_value
            assert tensor is not None
            name = f"{weight.name}.multiplied"
            twin = add_initializer(model, name, reinterpret(tensor, name, tensor.dtype, dims(weight)))
            node.replace_input_with(1, twin)
            report.changed += 1
        return report
