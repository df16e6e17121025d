"""Blocked weights that no kernel multiplies as they are -> float32 weights, computed at build time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from .base import LoweringPass, PassReport
from .linear_match import BlockedWeight, match_blocked, match_linear
from .matching import add_initializer
from .stored_tensors import dims, lazy

if TYPE_CHECKING:
    from redraft.export.graph_spec import GraphSpec


class DequantizeWeights(LoweringPass):
    """Without it the session would dequantise the whole matrix in every call."""

    name = "dequantize-weights"

    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Replace the weight of every linear layer that is still dequantised in the graph."""
        report = PassReport(self.name)
        for node in list(model.graph):
            linear = match_linear(node)
            blocked = None if linear is None else match_blocked(linear.weight)
            if linear is None or blocked is None:
                continue
            if blocked.scale.dtype != ir.DataType.FLOAT:
                report.refuse(node, f"the scales are {blocked.scale.dtype}, the weights would not be float32")
                continue
            name = f"{blocked.codes.name}.float32"
            tensor = lazy(name, ir.DataType.FLOAT, dims(blocked.codes), _Dequantize(blocked))
            weight = add_initializer(model, name, tensor)
            transpose = linear.matmul.inputs[1]
            assert transpose is not None
            again = ir.node("Transpose", [weight], {"perm": [1, 0]}, name=f"{node.name}/transpose_float32")
            model.graph.insert_before(node, again)
            node.replace_input_with(1, again.outputs[0])
            report.changed += 1
        return report


class _Dequantize:
    """Computes (codes - zero point) · scale, [out, in] float32, when called."""

    def __init__(self, blocked: BlockedWeight) -> None:
        self._blocked = blocked

    def __call__(self) -> NDArray[np.uint8]:
        codes, scale = self._blocked.codes.const_value, self._blocked.scale.const_value
        assert codes is not None
        assert scale is not None
        rows, width = dims(self._blocked.codes)
        values = codes.numpy().astype(np.float32).reshape(rows, -1, self._blocked.block)
        if self._blocked.zero_point is not None:
            zeros = self._blocked.zero_point.const_value
            assert zeros is not None
            values -= zeros.numpy().astype(np.float32)[:, :, None]
        values *= scale.numpy()[:, :, None]
        return values.reshape(rows, width).view(np.uint8)
