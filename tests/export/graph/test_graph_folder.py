"""Writing graphs: big files, little memory, whole folders or none."""

from __future__ import annotations

import resource
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from tests.support.array_checkpoint import ArrayCheckpoint, tiny_config
from tests.support.graph_runner import GraphRunner

from redraft._core.errors import RedraftError
from redraft._core.tensor_spec import TensorSpec
from redraft.export import GraphSpec, Precision, export_target
from redraft.export.graph.writing import IR_VERSION, OPSET, GraphBuilder, check_graph, graph_folder
from redraft.export.graph_spec import DATA_FILE, GRAPH_FILE

GIB = 1 << 30


class _FreshArrays(ArrayCheckpoint):
    """Makes a new array at every load, as a file would."""

    def load(self, name: str) -> NDArray[np.float32]:
        return super().load(name).copy()


@contextmanager
def _largest_file(size: int) -> Iterator[None]:
    """Writes beyond `size` bytes of a file fail with an OSError, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _small_spec() -> GraphSpec:
    return GraphSpec(
        role="target",
        variant="logits",
        precision={},
        inputs=(TensorSpec("x", "float32", ("B", 4)),),
        outputs=(TensorSpec("y", "float32", ("B", "T")),),
        sizes={"T": 3},
        windows=(),
        max_positions=1,
        cache_dtype="float32",
        opset=OPSET,
    )


def test_weights_beyond_two_gigabytes_are_saved_checked_and_run(tmp_path: Path) -> None:
    spec = _small_spec()
    weight = np.arange(12, dtype=np.float32).reshape(4, 3)
    with graph_folder(tmp_path / "graph", first_offset=5 * GIB // 2) as folder:
        builder = GraphBuilder("sparse", folder.writer, spec.sizes)
        x = builder.input(spec.inputs[0])
        builder.output(spec.outputs[0], builder.op("MatMul", [x, builder.weight("w", weight)], "product"))
        folder.save(builder, spec)
    data = (tmp_path / "graph" / DATA_FILE).stat()
    assert data.st_size > 2 * GIB
    assert data.st_blocks * 512 < GIB, "this file system keeps no holes: the test would take gigabytes"
    session = ort.InferenceSession(str(tmp_path / "graph" / GRAPH_FILE), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": np.eye(4, dtype=np.float32)})
    np.testing.assert_array_equal(y, weight)


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8", "int4"])
def test_export_holds_no_more_than_twice_the_largest_tensor(precision: str, tmp_path: Path) -> None:
    checkpoint = _FreshArrays.random(tiny_config(head_rows=120_000))
    checkpoint = _FreshArrays(checkpoint.config, checkpoint.arrays)
    largest = max(array.nbytes for array in checkpoint.arrays.values())
    tracemalloc.start()
    try:
        export_target(checkpoint, tmp_path / "graph", Precision.parse(precision))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * largest


def test_model_file_holds_no_weights_and_names_its_data_relatively(tmp_path: Path) -> None:
    export_target(ArrayCheckpoint.random(tiny_config()), tmp_path / "graph", Precision.parse("int4"))
    model = onnx.load(tmp_path / "graph" / GRAPH_FILE, load_external_data=False)
    for tensor in model.graph.initializer:
        location = {entry.key: entry.value for entry in tensor.external_data}
        if location:
            assert location["location"] == DATA_FILE
            assert int(location["offset"]) % 4096 == 0
        else:
            assert np.prod(tensor.dims) <= 8, tensor.name
    assert model.ir_version == IR_VERSION
    assert {opset.domain: opset.version for opset in model.opset_import} == {"": OPSET}


def test_graph_runs_from_another_place_and_its_specification_reads_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = export_target(ArrayCheckpoint.random(tiny_config()), tmp_path / "old" / "graph", Precision())
    (tmp_path / "old").rename(tmp_path / "new")
    monkeypatch.chdir("/")
    runner = GraphRunner(tmp_path / "new" / "graph")
    assert runner.spec == spec
    assert runner.run(np.array([[1, 2, 3]]), [0])["logits"].shape == (1, 3, 80)


def test_symbolic_axes_survive_and_fixed_ones_are_numbers(tmp_path: Path) -> None:
    export_target(ArrayCheckpoint.random(tiny_config()), tmp_path / "graph", Precision(), outputs=("hidden",))
    session = ort.InferenceSession(str(tmp_path / "graph" / GRAPH_FILE), providers=["CPUExecutionProvider"])
    shapes = {value.name: value.shape for value in (*session.get_inputs(), *session.get_outputs())}
    assert shapes["input_ids"] == ["B", "S"]
    assert shapes["logit_rows"] == ["B", "R"]
    assert shapes["attention_bias"] == ["B", 1, "S", "N"]
    assert shapes["past_key_values.1.value"] == shapes["present.1.value"] == ["B", 2, "N", 16]
    assert shapes["logits"] == ["B", "R", 80]
    assert shapes["hidden"] == ["B", "R", 64]


def test_axis_that_became_a_number_is_named(tmp_path: Path) -> None:
    spec = export_target(ArrayCheckpoint.random(tiny_config()), tmp_path / "graph", Precision())
    model = onnx.load(tmp_path / "graph" / GRAPH_FILE, load_external_data=False)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 2
    onnx.save(model, tmp_path / "graph" / GRAPH_FILE)
    with pytest.raises(RedraftError, match=r"input 'input_ids': expected axes \['B', 'S'\].*\['B', 2\]"):
        check_graph(tmp_path / "graph", spec)


def test_full_disk_leaves_the_older_graph_and_nothing_else(tmp_path: Path) -> None:
    checkpoint = ArrayCheckpoint.random(tiny_config())
    export_target(checkpoint, tmp_path / "graph", Precision())
    before = {path.name: path.read_bytes() for path in (tmp_path / "graph").iterdir()}
    with (
        _largest_file(1 << 16),
        pytest.raises(RedraftError, match=r"could not write .*graph: .*nothing was left behind"),
    ):
        export_target(checkpoint, tmp_path / "graph", Precision.parse("int4"))
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "graph").iterdir()} == before
