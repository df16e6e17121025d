"""Every number format: the graph computes what its stored weights say, and keeps wide what must be wide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from tests.support.array_checkpoint import ArrayCheckpoint, tiny_config
from tests.support.graph_runner import GraphRunner
from tests.support.tolerances import assert_close

from redraft._core.errors import UnsupportedError
from redraft.export import Precision, export_target
from redraft.export.checkpoint.base import BlockQuantized
from redraft.export.graph_spec import GRAPH_FILE
from redraft.export.quantize import quantize_matrix

IDS = np.random.default_rng(2).integers(0, 80, (1, 12))


def _logits(checkpoint: ArrayCheckpoint, folder: Path, precision: str) -> NDArray[np.float32]:
    export_target(checkpoint, folder, Precision.parse(precision))
    return GraphRunner(folder).run(IDS, [0])["logits"]


def _dequantized(checkpoint: ArrayCheckpoint, bits: int, dtype: Any = np.float32) -> ArrayCheckpoint:
    """The same checkpoint with every matrix replaced by what its integers mean."""
    arrays = {
        name: quantize_matrix(name, array, bits, dtype).dequantize() if array.ndim == 2 else array
        for name, array in checkpoint.arrays.items()
    }
    return ArrayCheckpoint(checkpoint.config, arrays)


def _quantized_file(
    checkpoint: ArrayCheckpoint, bits: int, block: int, *, symmetric: bool
) -> ArrayCheckpoint:
    """The checkpoint as a block-quantised file holds it; one matrix and all vectors stay floating."""
    stored, arrays = {}, dict(checkpoint.arrays)
    for name, array in checkpoint.arrays.items():
        if array.ndim != 2 or name == "layers.1.up.weight":
            continue
        blocks = array.reshape(array.shape[0], -1, block)
        low = blocks.min(-1) if not symmetric else -np.abs(blocks).max(-1)
        high = blocks.max(-1) if not symmetric else -low
        scale = ((high - low) / (2**bits - (0 if symmetric else 1))).astype(np.float32)
        minimum = (-scale * 2 ** (bits - 1) if symmetric else low).astype(np.float32)
        q = np.rint((blocks - minimum[:, :, None]) / scale[:, :, None]).clip(0, 2**bits - 1).astype(np.uint8)
        stored[name] = BlockQuantized(q.reshape(array.shape), scale, minimum, block, bits)
        arrays[name] = (q * scale[:, :, None] + minimum[:, :, None]).reshape(array.shape).astype(np.float32)
    return ArrayCheckpoint(checkpoint.config, arrays, stored=stored)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("bits", [4, 8])
def test_integer_formats_equal_the_same_arithmetic_on_dequantised_weights(
    bits: int, tied: bool, tmp_path: Path
) -> None:
    checkpoint = ArrayCheckpoint.random(tiny_config(tied_head=tied, qkv_bias=True))
    actual = _logits(checkpoint, tmp_path / "q", f"int{bits}")
    expected = _logits(_dequantized(checkpoint, bits), tmp_path / "f", "fp32")
    assert_close(actual, expected)
    assert np.abs(actual - _logits(checkpoint, tmp_path / "w", "fp32")).max() > 1e-3  # it is quantised indeed


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize(("bits", "block"), [(4, 32), (6, 16), (8, 32)])
def test_source_exact_equals_the_files_own_weights(
    bits: int, block: int, symmetric: bool, tmp_path: Path
) -> None:
    checkpoint = _quantized_file(
        ArrayCheckpoint.random(tiny_config(tied_head=True, mlp_bias=True)), bits, block, symmetric=symmetric
    )
    actual = _logits(checkpoint, tmp_path / "exact", "source-exact")
    assert_close(actual, _logits(checkpoint, tmp_path / "f", "fp32"))
    names = {tensor.name for tensor in _model(tmp_path / "exact").graph.initializer}
    assert ("layers.0.q.constant" in names) == (not symmetric)
    assert "layers.1.up.weight" in names  # the file keeps this one in floating point


def test_source_exact_is_refused_for_a_source_that_is_not_quantised(tmp_path: Path) -> None:
    checkpoint = ArrayCheckpoint.random(tiny_config())
    with pytest.raises(UnsupportedError, match="source-exact: arrays is not a quantised file"):
        export_target(checkpoint, tmp_path / "graph", Precision.parse("source-exact"))
    assert not list(tmp_path.iterdir())


def test_half_precision_agrees_with_wide_arithmetic_on_the_same_weights(tmp_path: Path) -> None:
    checkpoint = ArrayCheckpoint.random(tiny_config())
    actual = _logits(checkpoint, tmp_path / "half", "fp16")
    assert_close(actual, _logits(checkpoint, tmp_path / "wide", "fp32"), "float16")


def test_parts_of_a_half_precision_graph_have_their_own_formats(tmp_path: Path) -> None:
    checkpoint = ArrayCheckpoint.random(tiny_config())
    actual = _logits(checkpoint, tmp_path / "mixed", "body=int4,embedding=int8,head=fp32,compute=fp16")
    body, table = _dequantized(checkpoint, 4, np.float16), _dequantized(checkpoint, 8, np.float16)
    body.arrays["embed.weight"] = table.arrays["embed.weight"]
    body.arrays["head.weight"] = checkpoint.arrays["head.weight"]
    assert_close(actual, _logits(body, tmp_path / "wide", "fp32"), "float16")


@pytest.mark.parametrize("compute", ["fp16", "bf16"])
def test_norms_softmax_residual_and_logits_are_float32_in_narrow_graphs(compute: str, tmp_path: Path) -> None:
    config = tiny_config(qk_norm=True, sandwich_norms=True, logit_soft_cap=30.0)
    checkpoint = ArrayCheckpoint.random(config)
    spec = export_target(checkpoint, tmp_path / "g", Precision.parse(compute), outputs=("hidden",))
    model = onnx.shape_inference.infer_shapes(_model(tmp_path / "g"), check_type=True, strict_mode=True)
    kinds = {value.name: value.type.tensor_type.elem_type for value in model.graph.value_info}
    kinds |= {value.name: value.type.tensor_type.elem_type for value in model.graph.output}
    narrow = onnx.TensorProto.FLOAT16 if compute == "fp16" else onnx.TensorProto.BFLOAT16
    for node in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type in ("RMSNormalization", "RotaryEmbedding", "Tanh") or node.name.endswith(
            ("/after_attention", "/after_mlp")
        ):
            assert kinds[node.output[0]] == onnx.TensorProto.FLOAT, node.name
        if node.op_type == "Attention":
            assert attributes["softmax_precision"] == onnx.TensorProto.FLOAT
        if node.op_type == "MatMul":
            assert kinds[node.output[0]] == narrow, node.name
    assert {name: spec.output(name).dtype for name in ("logits", "hidden")} == {  # type: ignore[union-attr]
        "logits": "float32",
        "hidden": "float32",
    }
    assert spec.cache_dtype == {"fp16": "float16", "bf16": "bfloat16"}[compute]
    assert compute == "bf16" or np.isfinite(np.float16(spec.mask_value))


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16", "int8", "int4"])
def test_declared_types_are_those_that_onnx_infers(precision: str, tmp_path: Path) -> None:
    export_target(ArrayCheckpoint.random(tiny_config()), tmp_path / "g", Precision.parse(precision))
    onnx.shape_inference.infer_shapes(
        _model(tmp_path / "g"), check_type=True, strict_mode=True, data_prop=True
    )


def test_tied_head_shares_the_embeddings_tensor_only_where_formats_agree(tmp_path: Path) -> None:
    checkpoint = ArrayCheckpoint.random(tiny_config(tied_head=True))
    for precision, names in {
        "int4": {"embed.q"},
        "body=int4,embedding=int8,head=int4": {"embed.q", "head.q"},
        "fp32": {"embed.weight"},
    }.items():
        export_target(checkpoint, tmp_path / "g", Precision.parse(precision))
        tensors = {t.name for t in _model(tmp_path / "g").graph.initializer}
        found = {n for n in tensors if n.split(".")[0] in ("embed", "head") and n.endswith((".q", ".weight"))}
        assert found == names


def test_matrix_that_no_block_fits_is_refused_by_name_and_nothing_is_left(tmp_path: Path) -> None:
    checkpoint = ArrayCheckpoint.random(tiny_config(intermediate_size=80))
    with pytest.raises(UnsupportedError, match=r"'layers.0.down' has 80 inputs"):
        export_target(checkpoint, tmp_path / "graph", Precision.parse("int4"))
    assert not list(tmp_path.iterdir())


def _model(folder: Path) -> onnx.ModelProto:
    return onnx.load(folder / GRAPH_FILE)
