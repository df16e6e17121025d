"""A weight matrix in the graph, in one of the formats of `Precision`.

The canonical form of every matrix is a value [out, in], whatever it is stored as; `Transpose` + `MatMul` (a
linear layer) or `Gather` (an embedding) use it:

    fp32, fp16, bf16   initializer `<name>.weight` [out, in]; a `Cast` to the compute type where it differs
    int4, int8         `<name>/dequantize` = DequantizeLinear(<name>.q UINT4|UINT8 [out, in],
                       <name>.scale [out, in/32], <name>.zero_point UINT4|UINT8 [out, in/32]),
                       axis 1, block_size 32
    source-exact       `<name>/dequantize` = DequantizeLinear(<name>.q INT4|INT8 [out, in],
                       <name>.scale [out, in/block]), axis 1, block_size 16 or 32,
                       and `<name>.constant` [out, in/block] float32 where it is not zero

[out, in] keeps a row's blocks together: packed UINT4 rows are, byte for byte, what MatMulNBits and
GatherBlockQuantized of ONNX Runtime take (zero points have to be packed anew, row by row, where in/32 is
odd), and a tied matrix serves both uses. ONNX's Gather takes no 4-bit type, hence the Gather of dequantised
rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import onnx_ir as ir
from numpy.typing import NDArray

from redraft._core.errors import UnsupportedError
from redraft.export.checkpoint.base import BlockQuantized, Checkpoint
from redraft.export.graph.writing import FLOAT, GraphBuilder
from redraft.export.precision import BLOCK, Format
from redraft.export.quantize import IntegerBlocks, pack_nibbles, quantize_blocks, source_blocks

NUMBER_TYPES: dict[str, ir.DataType] = {
    "fp32": ir.DataType.FLOAT,
    "fp16": ir.DataType.FLOAT16,
    "bf16": ir.DataType.BFLOAT16,
}
_ROWS = 1 << 20  # weights converted at a time


@dataclass(frozen=True, slots=True)
class MatrixSource:
    """A checkpoint's matrix, or some of its rows."""

    checkpoint: Checkpoint
    tensor: str
    rows: NDArray[np.int64] | None = None

    def load(self) -> NDArray[np.float32]:
        """[out, in] float32."""
        if self.rows is None:
            return self.checkpoint.load(self.tensor)
        return self.checkpoint.load_rows(self.tensor, self.rows)

    def load_quantized(self) -> BlockQuantized | None:
        """The stored blocks, or None where the file does not quantise this matrix."""
        stored = self.checkpoint.load_quantized(self.tensor)
        if stored is None or self.rows is None:
            return stored
        r = self.rows
        return BlockQuantized(stored.q[r], stored.scale[r], stored.minimum[r], stored.block, stored.bits)


@dataclass(frozen=True, slots=True)
class StoredMatrix:
    """A matrix in the graph. `value` [out, in] has the type in which it is multiplied."""

    value: ir.Value
    format: str
    constant: ir.Value | None = None  # [out, in / block] float32, source-exact only
    block: int | None = None


def add_matrix(
    builder: GraphBuilder, name: str, source: MatrixSource, form: Format, compute: ir.DataType
) -> StoredMatrix:
    """Write the matrix in format `form` and append the nodes that give its value.

    It is multiplied in float32 where it is stored as fp32, else in `compute`. UnsupportedError for
    source-exact where the checkpoint is not quantised; tensors that a quantised file keeps in floating
    point are stored as fp32.
    """
    if form in ("int4", "int8"):
        return _add_integer(builder, name, source, 4 if form == "int4" else 8, compute)
    if form == "source-exact":
        if source.checkpoint.source.quantized_bits is None:
            raise UnsupportedError(
                f"source-exact: {source.checkpoint.source.uri} is not a quantised file "
                f"({source.checkpoint.source.format})",
                hint="choose fp32, fp16, bf16, int8 or int4",
            )
        stored = source.load_quantized()
        if stored is not None:
            return _add_source_exact(builder, name, stored, compute)
        form = "fp32"
    dtype = NUMBER_TYPES[form]
    weight = source.load()
    value = builder.stream(f"{name}.weight", dtype, weight.shape, _converted(weight, dtype))
    if dtype != FLOAT:
        value = builder.cast(value, compute, f"{name}/cast")
    return StoredMatrix(value, form)


def _converted(weight: NDArray[np.float32], dtype: ir.DataType) -> Iterator[NDArray[np.generic]]:
    step = max(1, _ROWS // weight.shape[1])
    numpy_dtype = ml_dtypes.bfloat16 if dtype == ir.DataType.BFLOAT16 else dtype.numpy()
    for start in range(0, weight.shape[0], step):
        yield weight[start : start + step].astype(numpy_dtype, copy=False)


def _add_integer(
    builder: GraphBuilder, name: str, source: MatrixSource, bits: int, compute: ir.DataType
) -> StoredMatrix:
    weight = source.load()
    out, width = weight.shape
    packed_type = ir.DataType.UINT4 if bits == 4 else ir.DataType.UINT8
    # The search knows no bfloat16: its scales are rounded afterwards.
    search_dtype = np.float16 if compute == ir.DataType.FLOAT16 else np.float32
    rest: list[IntegerBlocks] = []

    def integers() -> Iterator[NDArray[np.uint8]]:
        for part in quantize_blocks(name, weight, bits, search_dtype):
            rest.append(IntegerBlocks(part.q[:, :0], part.scale, part.zero_point))
            yield pack_nibbles(part.q) if bits == 4 else part.q

    q = builder.stream(f"{name}.q", packed_type, (out, width), integers())
    scale = np.concatenate([part.scale for part in rest]).astype(compute.numpy())
    zero = np.concatenate([part.zero_point for part in rest])
    inputs = [
        q,
        builder.weight(f"{name}.scale", scale),
        builder.stream(
            f"{name}.zero_point", packed_type, zero.shape, [pack_nibbles(zero) if bits == 4 else zero]
        ),
    ]
    value = builder.op(
        "DequantizeLinear", inputs, f"{name}/dequantize", dtype=compute, axis=1, block_size=BLOCK
    )
    return StoredMatrix(value, f"int{bits}", block=BLOCK)


def _add_source_exact(
    builder: GraphBuilder, name: str, stored: BlockQuantized, compute: ir.DataType
) -> StoredMatrix:
    blocks = source_blocks(name, stored)
    packed_type = ir.DataType.INT4 if blocks.bits == 4 else ir.DataType.INT8
    data = pack_nibbles(blocks.q) if blocks.bits == 4 else blocks.q
    q = builder.stream(f"{name}.q", packed_type, blocks.q.shape, [data])
    scale = builder.weight(f"{name}.scale", blocks.scale.astype(compute.numpy()))
    value = builder.op(
        "DequantizeLinear", [q, scale], f"{name}/dequantize", dtype=compute, axis=1, block_size=blocks.block
    )
    constant = None if blocks.constant is None else builder.weight(f"{name}.constant", blocks.constant)
    return StoredMatrix(value, "source-exact", constant, blocks.block)
