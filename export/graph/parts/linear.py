"""The two uses of a stored matrix: a linear layer and an embedding table."""

from __future__ import annotations

import onnx_ir as ir

from redraft.export.graph.writing import FLOAT, GraphBuilder

from .stored_matrix import StoredMatrix

LINEAR_ROLE = {"redraft.role": "linear"}
"""Metadata of the MatMul node of a linear layer; `redraft.format` beside it names the stored format."""


def linear(
    builder: GraphBuilder,
    name: str,
    x: ir.Value,
    matrix: StoredMatrix,
    *,
    bias: ir.Value | None = None,
    output: ir.DataType | None = None,
) -> ir.Value:
    """x [..., in] times the matrix's transpose, plus `bias` [out] (float32), as `output` (default: x's type).

    Nodes: `<name>/transpose`, `<name>` (MatMul), then `<name>/blocksum…` for source-exact and `<name>/bias`.
    """
    dtype = matrix.value.dtype
    assert dtype is not None
    transposed = builder.op("Transpose", [matrix.value], f"{name}/transpose", perm=[1, 0])
    y = builder.op(
        "MatMul",
        [builder.cast(x, dtype, f"{name}/input"), transposed],
        name,
        metadata={**LINEAR_ROLE, "redraft.format": matrix.format},
    )
    if matrix.constant is not None:
        y = builder.cast(y, FLOAT, f"{name}/wide")
        y = builder.op("Add", [y, _block_sums(builder, name, x, matrix)], f"{name}/corrected")
    if bias is not None:
        y = builder.op("Add", [builder.cast(y, FLOAT, f"{name}/wide"), bias], f"{name}/biased")
    return builder.cast(y, output or x.dtype or FLOAT, f"{name}/output")


def embed(builder: GraphBuilder, name: str, ids: ir.Value, matrix: StoredMatrix) -> ir.Value:
    """The matrix's rows at `ids` [B, S]: [B, S, in] float32."""
    rows = builder.op("Gather", [matrix.value, ids], name, axis=0, metadata={"redraft.role": "embedding"})
    rows = builder.cast(rows, FLOAT, f"{name}/wide")
    if matrix.constant is None:
        return rows
    block = matrix.block
    assert block is not None
    constant = builder.op("Gather", [matrix.constant, ids], f"{name}/constant", axis=0)
    constant = builder.op("Unsqueeze", [constant, builder.ints(-1)], f"{name}/constant/column")
    blocks = builder.op("Reshape", [rows, builder.ints(0, 0, -1, block)], f"{name}/blocks")
    blocks = builder.op("Add", [blocks, constant], f"{name}/corrected")
    return builder.op("Reshape", [blocks, builder.ints(0, 0, -1)], f"{name}/rows")


def _block_sums(builder: GraphBuilder, name: str, x: ir.Value, matrix: StoredMatrix) -> ir.Value:
    """blocksum(x) times the constants' transpose: [..., out] float32."""
    block = matrix.block
    assert block is not None
    assert matrix.constant is not None
    x = builder.cast(x, FLOAT, f"{name}/blocksum/input")
    blocks = builder.op("Reshape", [x, builder.ints(0, 0, -1, block)], f"{name}/blocksum/blocks")
    sums = builder.op("ReduceSum", [blocks, builder.ints(-1)], f"{name}/blocksum", keepdims=0)
    transposed = builder.op("Transpose", [matrix.constant], f"{name}/blocksum/transpose", perm=[1, 0])
    return builder.op("MatMul", [sums, transposed], f"{name}/blocksum/matmul")
