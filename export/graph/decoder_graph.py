"""What the target's and the drafter's graph have in common: inputs, body, hidden rows, cache, facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from redraft._core.errors import UsageError
from redraft._core.tensor_spec import TensorSpec
from redraft.export.checkpoint.base import Checkpoint
from redraft.export.graph_spec import GraphSpec
from redraft.export.precision import Precision

from .decoder_body import DecoderBody
from .head import hidden_rows
from .writing import GraphBuilder, GraphFolder

HIDDEN = TensorSpec("hidden", "float32", ("B", "R", "E"))
"""Optional output: the head's input."""


@dataclass(frozen=True, slots=True)
class DecoderGraph:
    """A graph up to the head's input. `values` are the possible outputs by name; the head adds its own."""

    builder: GraphBuilder
    body: DecoderBody
    hidden: ir.Value  # [B, R, E] float32
    values: dict[str, ir.Value]

    def save(self, folder: GraphFolder, spec: GraphSpec) -> None:
        """Declare the outputs of `spec` and write the model."""
        for tensor in spec.outputs:
            self.builder.output(tensor, self.values[tensor.name])
        folder.save(self.builder, spec)


def start_graph(
    folder: GraphFolder,
    spec: GraphSpec,
    checkpoint: Checkpoint,
    precision: Precision,
    layers: Sequence[int],
) -> DecoderGraph:
    """Declare the inputs of `spec` and append the body with the checkpoint's `layers`."""
    builder = GraphBuilder(spec.role, folder.writer, spec.sizes)
    inputs = {tensor.name: builder.input(tensor) for tensor in spec.inputs}
    body = DecoderBody(builder, checkpoint, precision, layers, inputs)
    residual, present = body.build()
    hidden = hidden_rows(body, residual)
    values = {"hidden": hidden}
    for index, (key, value) in enumerate(present):
        values[f"present.{index}.key"], values[f"present.{index}.value"] = key, value
    return DecoderGraph(builder, body, hidden, values)


def optional_outputs(outputs: Sequence[str]) -> tuple[TensorSpec, ...]:
    """The specifications of the optional outputs asked for; UsageError for a name that is none."""
    unknown = sorted(set(outputs) - {HIDDEN.name})
    if unknown:
        raise UsageError(f"optional graph outputs: expected '{HIDDEN.name}', got '{unknown[0]}'")
    return (HIDDEN,) if outputs else ()


def precision_json(precision: Precision) -> dict[str, str]:
    """The fields of a precision, as `graph.json` stores them."""
    return {part: getattr(precision, part) for part in ("body", "embedding", "head", "compute")}


def graph_facts(checkpoint: Checkpoint) -> dict[str, object]:
    """What `GraphSpec.extra` says of every graph: facts for lowering passes and reports."""
    config = checkpoint.config
    return {
        "family": config.family,
        "source_format": checkpoint.source.format,
        "attention_scale": config.attention_scale,
        "attention_soft_cap": config.attention_soft_cap,
        "logit_soft_cap": config.logit_soft_cap,
        "tied_head": config.tied_head,
        "rope_rows": config.max_positions,
    }
