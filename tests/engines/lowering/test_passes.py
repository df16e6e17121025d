"""Each pass alone: what it rewrites, what it refuses and why, and that the numbers stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.canonical_graph import TinyDecoder, tiny_spec

from redraft.engines.lowering import LoweringPass, PassReport, save_model
from redraft.engines.lowering.dequantized_weights import DequantizeWeights
from redraft.engines.lowering.drop_dead_code import DropDeadCode
from redraft.engines.lowering.gather_block_quantized import FuseGatherBlockQuantized
from redraft.engines.lowering.inline_functions import InlineFunctions
from redraft.engines.lowering.matmul_nbits import FuseMatMulNBits
from redraft.engines.lowering.merge_gate_up import MergeGateUp
from redraft.engines.lowering.split_shared_table import SplitSharedTable
from redraft.engines.lowering.transposed_weights import FuseTransposedWeights

SPEC = tiny_spec(TinyDecoder())
FLOAT = ir.TensorType(ir.DataType.FLOAT)


class Net:
    """A small graph over one input x [1, S, width]."""

    def __init__(self, width: int, kind: ir.DataType = ir.DataType.FLOAT) -> None:
        self.x = ir.Value(
            name="x", type=ir.TensorType(kind), shape=ir.Shape([1, "S", width] if width else [1, "S"])
        )
        self.graph = ir.Graph([self.x], [], nodes=[], opset_imports={"": 24}, name="net")

    def constant(self, name: str, array: Any, dtype: ir.DataType | None = None) -> ir.Value:
        tensor = ir.tensor(array, dtype=dtype, name=name)
        value = ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=tensor.shape, const_value=tensor)
        self.graph.register_initializer(value)
        return value

    def op(self, kind: str, inputs: list[ir.Value], name: str, **attributes: Any) -> ir.Value:
        node = ir.node(kind, inputs, attributes, name=name)
        node.outputs[0].name = name
        self.graph.append(node)
        return node.outputs[0]

    def linear(self, x: ir.Value, weight: ir.Value, name: str, form: str = "") -> ir.Value:
        y = self.op("MatMul", [x, self.op("Transpose", [weight], f"{name}/t", perm=[1, 0])], name)
        y.producer().metadata_props["redraft.format"] = form  # type: ignore[union-attr]
        return y

    def blocked(self, name: str, kind: str, out: int, width: int, block: int, seed: int = 0) -> ir.Value:
        random = np.random.default_rng(seed)
        dtype = ir.DataType[kind]
        low, high = {"UINT4": (0, 16), "INT4": (-8, 8), "UINT8": (0, 256), "INT8": (-128, 128)}[kind]
        codes = random.integers(low, high, (out, width)).astype(dtype.numpy())
        scale = random.uniform(0.01, 0.02, (out, width // block)).astype(np.float32)
        inputs = [self.constant(f"{name}.q", codes, dtype), self.constant(f"{name}.s", scale)]
        if kind.startswith("U"):
            zero = random.integers(low, high, (out, width // block)).astype(dtype.numpy())
            inputs.append(self.constant(f"{name}.z", zero, dtype))
        return self.op("DequantizeLinear", inputs, f"{name}/dq", axis=1, block_size=block)

    def model(self, *outputs: ir.Value) -> ir.Model:
        for output in outputs:
            output.type = FLOAT
            self.graph.outputs.append(output)
        return ir.Model(self.graph, ir_version=11)


def run(model: ir.Model, folder: Path, x: NDArray[Any]) -> list[NDArray[Any]]:
    folder.mkdir()
    save_model(model, folder)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return list(ort.InferenceSession(folder / "model.onnx", options).run(None, {"x": x}))


def check(
    model: ir.Model, one: LoweringPass, folder: Path, x: NDArray[Any], atol: float = 1e-4
) -> PassReport:
    """Run before and after the pass; both must agree."""
    before = run(model, folder / "before", x)
    report = one.apply(model, SPEC)
    DropDeadCode().apply(model, SPEC)
    after = run(model, folder / "after", x)
    for a, b in zip(after, before, strict=True):
        np.testing.assert_allclose(a, b, atol=atol, rtol=1e-4)
    return report


def kinds(model: ir.Model) -> list[str]:
    return [node.op_type for node in model.graph]


def rows(width: int, seed: int = 0, length: int = 3) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((1, length, width), dtype=np.float32)


def matrix(out: int, width: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((out, width), dtype=np.float32)


@settings(max_examples=12, deadline=None)
@given(
    kind=st.sampled_from(["UINT4", "INT4", "UINT8", "INT8"]),
    out=st.integers(1, 9),
    blocks=st.integers(1, 5),
    block=st.sampled_from([16, 32, 64]),
    seed=st.integers(0, 99),
)
def test_matmul_nbits_is_exact_with_float_activations(
    kind: str, out: int, blocks: int, block: int, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    width = blocks * block
    net = Net(width)
    model = net.model(net.linear(net.x, net.blocked("w", kind, out, width, block, seed), "y"))
    report = check(
        model, FuseMatMulNBits(int8_activations=False), tmp_path_factory.mktemp("nbits"), rows(width, seed)
    )
    assert report.changed == 1
    assert kinds(model) == ["MatMulNBits"]


def test_int8_activations_stay_within_their_rounding(tmp_path: Path) -> None:
    net = Net(64)
    model = net.model(net.linear(net.x, net.blocked("w", "UINT4", 24, 64, 32), "y"))
    # Each activation is off by at most half of (block maximum / 127); 64 of them meet weights below 0.3.
    check(model, FuseMatMulNBits(), tmp_path, rows(64), atol=64 * 0.3 * 3.5 / 254 / 2)
    assert model.graph[0].attributes["accuracy_level"].as_int() == 4


def test_source_exact_weights_keep_float_activations_or_are_dequantised(tmp_path: Path) -> None:
    net = Net(64)
    four = net.linear(net.x, net.blocked("a", "INT4", 8, 64, 32), "four", "source-exact")
    eight = net.linear(net.x, net.blocked("b", "INT8", 8, 64, 16), "eight", "source-exact")
    model = net.model(four, eight)
    report = check(model, FuseMatMulNBits(), tmp_path, rows(64))
    assert [refusal.node for refusal in report.refusals] == ["eight"]
    (tmp_path / "then").mkdir()
    assert check(model, DequantizeWeights(), tmp_path / "then", rows(64)).changed == 1
    assert "DequantizeLinear" not in kinds(model)


@pytest.mark.parametrize("kind", ["UINT4", "INT4", "UINT8", "INT8"])
def test_an_embedding_gathers_quantised_rows(kind: str, tmp_path: Path) -> None:
    net = Net(0, ir.DataType.INT64)
    model = net.model(net.op("Gather", [net.blocked("table", kind, 11, 64, 32), net.x], "rows"))
    ids = np.array([[0, 10, 3, 3]])
    assert check(model, FuseGatherBlockQuantized(), tmp_path, ids, atol=1e-6).changed == 1
    assert kinds(model) == ["GatherBlockQuantized"]


def test_stored_weights_are_multiplied_as_they_are(tmp_path: Path) -> None:
    net = Net(20)
    model = net.model(net.linear(net.x, net.constant("w", matrix(7, 20)), "y"))
    assert check(model, FuseTransposedWeights(), tmp_path, rows(20)).changed == 1
    assert kinds(model) == ["FusedMatMul"]


def test_half_precision_weights_are_refused_by_type(tmp_path: Path) -> None:
    net = Net(20, ir.DataType.FLOAT16)
    weight = net.constant("w", matrix(7, 20).astype(np.float16))
    model = net.model(net.linear(net.x, weight, "y"))
    report = FuseTransposedWeights().apply(model, SPEC)
    assert report.changed == 0
    assert "FLOAT16" in report.refusals[0].reason


def merged_by(model: ir.Model, folder: Path) -> PassReport:
    FuseMatMulNBits(int8_activations=False).apply(model, SPEC)
    FuseTransposedWeights().apply(model, SPEC)
    return check(model, MergeGateUp(), folder, rows(64))


def test_two_quantised_projections_of_one_input_become_one(tmp_path: Path) -> None:
    net = Net(64)
    weights = [net.blocked(name, "UINT4", out, 64, 32) for name, out in (("gate", 6), ("up", 10))]
    products = [net.linear(net.x, weight, f"y{i}") for i, weight in enumerate(weights)]
    model = net.model(*(net.op("Neg", [y], f"out{i}") for i, y in enumerate(products)))
    assert merged_by(model, tmp_path).changed == 1
    assert kinds(model).count("MatMulNBits") == 1


@pytest.mark.parametrize(("first", "second"), [("UINT4", "UINT8"), ("UINT4", "INT4")])
def test_projections_in_different_forms_stay_apart_with_a_reason(
    first: str, second: str, tmp_path: Path
) -> None:
    net = Net(64)
    a = net.linear(net.x, net.blocked("a", first, 6, 64, 32), "y0")
    b = net.linear(net.x, net.blocked("b", second, 6, 64, 32), "y1")
    report = merged_by(net.model(net.op("Add", [a, b], "sum")), tmp_path)
    assert report.changed == 0
    assert "different forms" in report.refusals[0].reason


def test_a_table_read_and_multiplied_is_two_constants_over_one_place_of_the_file(tmp_path: Path) -> None:
    net = Net(0, ir.DataType.INT64)
    table = net.constant("table", matrix(300, 16))
    hidden = net.op("Gather", [table, net.x], "hidden")
    first = net.model(net.linear(hidden, table, "y"))
    (tmp_path / "stored").mkdir()
    save_model(first, tmp_path / "stored")
    model = ir.load(tmp_path / "stored" / "model.onnx")
    FuseTransposedWeights().apply(model, SPEC)
    assert check(model, SplitSharedTable(), tmp_path, np.array([[1, 299]])).changed == 1
    places = [tensor.const_value.offset for tensor in model.graph.initializers.values()]  # type: ignore[union-attr]
    assert len(places) == 2
    assert len(set(places)) == 1


def test_functions_are_inlined(tmp_path: Path) -> None:
    a = ir.Value(name="a")
    body = ir.node("Neg", [a])
    graph = ir.Graph([a], [body.outputs[0]], nodes=[body], opset_imports={"": 24})
    function = ir.Function("redraft", "Negative", "", graph=graph, attributes=[])
    net = Net(4)
    call = ir.node("Negative", [net.x], domain="redraft")
    net.graph.append(call)
    call.outputs[0].name = "y"
    net.graph.opset_imports["redraft"] = 1
    model = net.model(call.outputs[0])
    model.functions[function.identifier()] = function
    assert check(model, InlineFunctions(), tmp_path, rows(4)).changed == 1
    assert kinds(model) == ["Neg"]
    assert not model.functions
