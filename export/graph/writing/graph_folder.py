"""Writing a canonical graph's folder: weights while it is built, then the model, its check and graph.json."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import onnx
import onnx_ir as ir

from redraft import __version__
from redraft._core.atomic import atomic_folder
from redraft._core.errors import RedraftError
from redraft._core.tensor_spec import TensorSpec
from redraft.export.graph_spec import DATA_FILE, GRAPH_FILE, SPEC_FILE, GraphSpec

from .graph_builder import GraphBuilder
from .weights_writer import WeightsWriter

OPSET = 24
IR_VERSION = 12


@dataclass(slots=True)
class GraphFolder:
    """A folder that is being written: stream weights into `writer`, then call `save` once."""

    path: Path
    writer: WeightsWriter
    saved: bool = field(default=False, init=False)

    def save(self, builder: GraphBuilder, spec: GraphSpec) -> None:
        """Write and check model.onnx, and write graph.json."""
        self.writer.close()
        model = ir.Model(
            builder.graph,
            ir_version=IR_VERSION,
            producer_name="redraft",
            producer_version=__version__,
            functions=builder.functions,
        )
        ir.save(model, self.path / GRAPH_FILE)
        check_graph(self.path, spec)
        (self.path / SPEC_FILE).write_text(json.dumps(spec.to_json(), indent=1) + "\n")
        self.saved = True


@contextmanager
def graph_folder(path: Path, *, first_offset: int = 0) -> Iterator[GraphFolder]:
    """A graph folder that appears at `path` whole or not at all, replacing a graph folder that is there.

    `first_offset`: where in the data file the weights start.
    """
    with (
        atomic_folder(path, marker=SPEC_FILE) as temporary,
        WeightsWriter(temporary / DATA_FILE, first_offset=first_offset) as writer,
    ):
        folder = GraphFolder(temporary, writer)
        yield folder
        assert folder.saved, "GraphFolder.save was not called"


def check_graph(folder: Path, spec: GraphSpec) -> None:
    """Run ONNX's checker on the saved model, by path, and compare its inputs and outputs with `spec`.

    RedraftError names the tensor and axis that differ: a symbolic axis that became a number, say.
    """
    path = folder / GRAPH_FILE
    onnx.checker.check_model(str(path))
    graph = onnx.load(path, load_external_data=False).graph
    for kind, expected, found in (
        ("input", spec.inputs, graph.input),
        ("output", spec.outputs, graph.output),
    ):
        if [value.name for value in found] != [tensor.name for tensor in expected]:
            raise RedraftError(f"{path}: its {kind}s are not those of {SPEC_FILE}")
        for tensor, value in zip(expected, found, strict=True):
            _check_axes(kind, tensor, value, spec.sizes)


def _check_axes(kind: str, tensor: TensorSpec, value: onnx.ValueInfoProto, sizes: dict[str, int]) -> None:
    dims = [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
    expected = [sizes.get(axis, axis) if isinstance(axis, str) else axis for axis in tensor.axes]
    if dims != expected:
        raise RedraftError(
            f"graph {kind} '{tensor.name}': expected axes {expected}, the saved graph has {dims}"
        )
