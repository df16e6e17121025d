"""OrtCpuBackend: lowers a canonical graph and opens what it wrote."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Any

from redraft._core.atomic import atomic_file
from redraft._core.errors import InputFileError, RedraftError, UnsupportedError
from redraft.engines.base import Availability, Backend, BuildReport, LoadOptions, Profile
from redraft.export.graph_spec import DATA_FILE, GRAPH_FILE, SPEC_FILE, GraphSpec

from .engine import OrtCpuEngine

_MIN_VERSION = (1, 32)


class OrtCpuBackend(Backend):
    """ONNX Runtime's CPU provider. Works wherever the package does."""

    name = "ort-cpu"

    def availability(self) -> Availability:
        """Ok where onnxruntime is installed and new enough for ragged GroupQueryAttention."""
        try:
            import onnxruntime as ort
        except ImportError as error:
            return Availability(False, f"onnxruntime cannot be imported: {error}", "pip install onnxruntime")
        version: str = ort.__version__
        if tuple(int(part) for part in version.split(".")[:2]) < _MIN_VERSION:
            wanted = ".".join(map(str, _MIN_VERSION))
            return Availability(
                False,
                f"onnxruntime {version} is too old, {wanted} is needed",
                "pip install -U onnxruntime",
                version,
            )
        return Availability(True, version=version)

    def build_identity(self, profile: Profile) -> dict[str, Any]:
        """The passes' version: the lowered graph takes every shape and holds nothing of this machine."""
        from redraft.engines.lowering import PASSES_VERSION

        return {"passes": PASSES_VERSION}

    def build(self, graph: Path, output: Path, profile: Profile) -> BuildReport:
        """Lower the canonical graph in `graph` into `output`: model, data in this layout, specification.

        UnsupportedError for bfloat16 graphs; InputFileError where the graph cannot be read.
        """
        from redraft.engines.lowering import PASSES_VERSION, lower_for_ort_cpu, save_model

        start = time.perf_counter()
        spec = GraphSpec.read(graph)
        _refuse_bfloat16(spec)
        model = _load_canonical(graph / GRAPH_FILE)
        limits = _index_limits(model)
        reports = lower_for_ort_cpu(model, spec)
        save_model(model, output)
        lowered = dataclasses.replace(spec, extra={**spec.extra, **limits})
        with atomic_file(output / SPEC_FILE) as path:
            path.write_text(json.dumps(lowered.to_json(), indent=1))
        return BuildReport(
            backend=self.name,
            backend_version=self.availability().version or "",
            files=(GRAPH_FILE, DATA_FILE, SPEC_FILE),
            seconds=time.perf_counter() - start,
            options={
                "passes_version": PASSES_VERSION,
                "refusals": [
                    [report.name, item.node, item.reason] for report in reports for item in report.refusals
                ],
            },
            passes=tuple(report.name for report in reports if report.changed),
        )

    def load(self, folder: Path, options: LoadOptions) -> OrtCpuEngine:
        """The engine in `folder`: what `build` wrote, or a canonical graph to run as it is."""
        _refuse_bfloat16(GraphSpec.read(folder))
        return OrtCpuEngine(folder, options)


def _refuse_bfloat16(spec: GraphSpec) -> None:
    if "bf16" in spec.precision.values() or spec.cache_dtype == "bfloat16":
        raise UnsupportedError(
            "backend 'ort-cpu': the CPU provider has no bfloat16 arithmetic, and this graph is bf16",
            hint="export with --precision fp32 (bf16 weights are converted without loss), int8 or int4",
        )


def _load_canonical(path: Path) -> Any:
    import onnx_ir as ir

    try:
        model = ir.load(path)
        _check_data(model, path)
        return model
    except FileNotFoundError:
        raise InputFileError(
            f"{path} is missing", hint="export the graph again with `redraft export`"
        ) from None
    except RedraftError:
        raise
    except Exception as error:  # protobuf and onnx-ir raise many kinds
        raise InputFileError(
            f"{path} is not a readable ONNX file: {error}",
            hint="export the graph again with `redraft export`",
        ) from error


def _check_data(model: Any, path: Path) -> None:
    """InputFileError where an external tensor reaches beyond its file."""
    for value in model.graph.initializers.values():
        tensor = value.const_value
        length = getattr(tensor, "length", None)
        if length is None:
            continue
        data = Path(tensor.path)
        size = data.stat().st_size if data.is_file() else 0
        if (tensor.offset or 0) + length > size:
            raise InputFileError(
                f"{data} is missing or truncated: tensor '{value.name}' ends behind its {size} bytes",
                hint="export the graph again with `redraft export`",
            )


def _index_limits(model: Any) -> dict[str, int]:
    """How many rows the embedding and the rotary tables have: what a call's numbers are checked against."""
    limits: dict[str, int] = {}
    for node in model.graph:
        names = [value.name if value is not None else None for value in node.inputs]
        if node.op_type in ("Gather", "GatherElements") and len(names) > 1 and names[1] == "input_ids":
            limits["embedding_rows"] = _rows(node.inputs[0])
        if node.op_type == "RotaryEmbedding" and len(names) > 3 and names[3] == "position_ids":
            limits["position_rows"] = _rows(node.inputs[1])
    return limits


def _rows(table: Any) -> int:
    """Rows of a constant table, stored as it is or dequantised or cast in the graph."""
    while table.const_value is None:
        table = table.producer().inputs[0]
    return int(table.const_value.shape[0])
