"""Root-mean-square norm, always in float32."""

from __future__ import annotations

import onnx_ir as ir

from redraft.export.graph.writing import FLOAT, GraphBuilder


def rms_norm(
    builder: GraphBuilder, name: str, x: ir.Value, weight: ir.Value, epsilon: float, output: ir.DataType
) -> ir.Value:
    """x / sqrt(mean(x^2) + epsilon) * weight over the last axis, computed in float32, given as `output`."""
    wide = builder.cast(x, FLOAT, f"{name}/wide")
    normed = builder.op(
        "RMSNormalization", [wide, weight], name, axis=-1, epsilon=epsilon, stash_type=int(FLOAT)
    )
    return builder.cast(normed, output, f"{name}/output")
