"""Whole lowering: the lowered graph gives what the canonical graph gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from tests.support.array_checkpoint import ArrayCheckpoint, tiny_config
from tests.support.canonical_graph import TinyDecoder, write_tiny
from tests.support.engine_calls import build_lowered, load, random_script, run_script
from tests.support.rdk_cases import random_prior, small_map
from tests.support.tolerances import assert_close

from redraft.engines import Profile
from redraft.engines.backends.ort_cpu import OrtCpuBackend
from redraft.export import Precision, drafter_body_digest, export_drafter, export_target
from redraft.export.config import LayerConfig, RopeConfig
from redraft.rdk.prior import KINDS

CAPACITY = 40
ROPE = RopeConfig(10000.0)
DECODERS = {
    "plain": TinyDecoder(),
    "sliding": TinyDecoder(windows=(5, None)),
    "all sliding": TinyDecoder(windows=(3, 3)),
    "interleaved rotary": TinyDecoder(interleaved=True),
    "biases": TinyDecoder(qkv_bias=True),
    "gemma-like": TinyDecoder(
        qk_norm=True, sandwich_norms=True, softcap=5.0, activation="gelu", windows=(4, None)
    ),
    "one key head": TinyDecoder(num_kv_heads=1, num_heads=3),
    "a head size that is not lowered": TinyDecoder(
        num_kv_heads=1, num_heads=3, head_size=8, windows=(3, None)
    ),
    "no grouping": TinyDecoder(num_kv_heads=4),
}
CONFIGS = {
    "llama": tiny_config(),
    "tied": tiny_config(tied_head=True),
    "biases": tiny_config(qkv_bias=True, output_bias=True, mlp_bias=True),
    "gemma": tiny_config(
        qk_norm=True, sandwich_norms=True, activation="gelu_tanh", embedding_scale=8.0,
        attention_soft_cap=20.0, logit_soft_cap=10.0, layers=(LayerConfig(5, ROPE), LayerConfig(None,
        RopeConfig(1e6))), tied_head=True,
    ),
}  # fmt: skip


def compare(
    graph: Path, folder: Path, rows: int, batch: int, dtype: str = "float32", atol: float | None = None
) -> Path:
    """Run the same calls on the graph as it is and lowered.

    Prefill, warm cache, single tokens, ragged rollbacks.
    """
    script = random_script(batch, batch, [7, 1, 4, 1, 6, 2], rows, CAPACITY)
    build_lowered(graph, folder)
    with load(graph) as before, load(folder) as after:
        for expected, actual in zip(
            run_script(before, script, CAPACITY), run_script(after, script, CAPACITY), strict=True
        ):
            assert actual.keys() == expected.keys()
            for name, value in expected.items():
                if atol is None:
                    assert_close(actual[name], value, dtype)
                else:
                    np.testing.assert_allclose(actual[name], value, atol=atol)
    return folder


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", DECODERS)
def test_a_lowered_graph_equals_the_canonical_one(name: str, batch: int, tmp_path: Path) -> None:
    config = DECODERS[name]
    write_tiny(tmp_path / "graph", config)
    compare(tmp_path / "graph", tmp_path / "engine", config.rows, batch)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_exported_graphs_of_every_feature_lower_without_loss(
    name: str, precision: str, tmp_path: Path
) -> None:
    graph = tmp_path / "graph"
    checkpoint = ArrayCheckpoint.random(CONFIGS[name])
    export_target(checkpoint, graph, Precision.parse(precision), outputs=("hidden",))
    compare(graph, tmp_path / "engine", 80, 2, "float32" if precision == "fp32" else "float16")


@pytest.mark.parametrize(
    "precision", ["int4", "int8", "body=int4,embedding=int8", "head=int4,embedding=fp32"]
)
def test_quantised_graphs_lower_up_to_int8_activations(precision: str, tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    export_target(
        ArrayCheckpoint.random(CONFIGS["tied"]), graph, Precision.parse(precision), outputs=("hidden",)
    )
    compare(graph, tmp_path / "engine", 80, 2, atol=0.3)


@pytest.mark.parametrize("variant", ["redistributed", "factored"])
@pytest.mark.parametrize("kind", KINDS)
def test_drafters_of_every_kind_lower_without_loss(kind: str, variant: str, tmp_path: Path) -> None:
    checkpoint, precision = ArrayCheckpoint.random(CONFIGS["tied"]), Precision.parse("fp32")
    vocab_map = small_map(80, 24, num_tokens=76)
    digest = drafter_body_digest(checkpoint, precision)
    prior = replace(random_prior(kind, vocab_map, hidden_size=64), body_digest=digest)
    export_drafter(checkpoint, tmp_path / "graph", precision, vocab_map, prior, variant=variant)  # type: ignore[arg-type]
    folder = compare(tmp_path / "graph", tmp_path / "engine", 80, 2)
    assert not onnx.load(folder / "model.onnx", load_external_data=False).functions


def test_the_lowered_graph_needs_no_mask_and_no_capacity_sized_input(tmp_path: Path) -> None:
    write_tiny(tmp_path / "graph", TinyDecoder(windows=(5, None)))
    folder = build_lowered(tmp_path / "graph", tmp_path / "engine")
    names = {value.name for value in onnx.load(folder / "model.onnx", load_external_data=False).graph.input}
    assert names >= {"input_ids", "position_ids", "logit_rows", "seqlens_k"}
    assert not names & {"attention_bias", "attention_bias_local", "write_pos"}


def test_a_tied_matrix_is_written_once(tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    export_target(ArrayCheckpoint.random(CONFIGS["tied"]), graph, Precision.parse("fp32"))
    folder = build_lowered(graph, tmp_path / "engine")
    data = "model.onnx.data"
    assert (folder / data).stat().st_size <= (graph / data).stat().st_size + (1 << 16)


def test_the_report_names_passes_and_refusals(tmp_path: Path) -> None:
    write_tiny(tmp_path / "graph", TinyDecoder(interleaved=True))
    (tmp_path / "engine").mkdir()
    report = OrtCpuBackend().build(tmp_path / "graph", tmp_path / "engine", Profile())
    assert "group-query-attention" in report.passes
    refusals = report.options["refusals"]
    assert ["pack-qkv", "layers.0.gqa", "an input does not come straight from a linear layer"] in refusals


def test_two_builds_of_one_graph_are_byte_equal(tmp_path: Path) -> None:
    write_tiny(tmp_path / "graph", TinyDecoder(weights="int4"))
    first = build_lowered(tmp_path / "graph", tmp_path / "first")
    second = build_lowered(tmp_path / "graph", tmp_path / "second")
    for name in ("model.onnx", "model.onnx.data", "graph.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
