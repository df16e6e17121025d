"""From the last residual to logits: the asked rows, the final norm, the head, its soft cap."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from .decoder_body import DecoderBody
from .drafter_body import head_tensor
from .parts import MatrixSource, StoredMatrix, add_matrix, linear
from .writing import FLOAT, GraphBuilder


def hidden_rows(body: DecoderBody, residual: ir.Value) -> ir.Value:
    """The head's input at `logit_rows`: [B, R, E] float32. Only these rows are normed."""
    builder = body.builder
    rows = builder.op("Unsqueeze", [body.inputs["logit_rows"], builder.ints(-1)], "logit_rows/index")
    picked = builder.op("GatherND", [residual, rows], "logit_rows/residual", batch_dims=1)
    return body.norm("final_norm", "final_norm", picked, FLOAT)


def head_logits(body: DecoderBody, hidden: ir.Value, rows: NDArray[np.int64] | None = None) -> ir.Value:
    """Logits [B, R, T or len(rows)] float32 of the head's `rows` (default: all), soft cap included.

    A tied head that is whole and has the embedding's format uses the embedding's stored tensor.
    """
    builder, config = body.builder, body.config
    logits = linear(builder, "head", hidden, _head_matrix(body, rows), output=FLOAT)
    cap = config.logit_soft_cap
    return logits if cap is None else soft_cap(builder, "head", logits, cap)


def soft_cap(builder: GraphBuilder, name: str, x: ir.Value, cap: float) -> ir.Value:
    """cap * tanh(x / cap)."""
    limit = builder.scalar(cap, f"{name}.soft_cap")
    squashed = builder.op(
        "Tanh", [builder.op("Div", [x, limit], f"{name}/soft_cap/ratio")], f"{name}/soft_cap/tanh"
    )
    return builder.op("Mul", [squashed, limit], f"{name}/soft_cap")


def _head_matrix(body: DecoderBody, rows: NDArray[np.int64] | None) -> StoredMatrix:
    precision = body.precision
    if body.config.tied_head and rows is None and precision.head == precision.embedding:
        return body.embedding
    source = MatrixSource(body.checkpoint, head_tensor(body.checkpoint), rows)
    return add_matrix(body.builder, "head", source, precision.head, body.compute)
