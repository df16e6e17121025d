"""The target's graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redraft._core.errors import UsageError
from redraft._core.tensor_spec import TensorSpec
from redraft.export.checkpoint.base import Checkpoint
from redraft.export.graph_spec import GraphSpec
from redraft.export.precision import Precision

from .decoder_body import DecoderBody
from .graph_builder import GraphBuilder
from .graph_folder import OPSET, graph_folder
from .graph_inputs import COMPUTE_DTYPES, input_specs, model_sizes, present_specs
from .head import head_logits, hidden_rows

HIDDEN = TensorSpec("hidden", "float32", ("B", "R", "E"))


def export_target(
    checkpoint: Checkpoint, folder: Path, precision: Precision, *, outputs: Sequence[str] = ()
) -> GraphSpec:
    """Write the checkpoint's canonical graph into `folder` (replaced as a whole) and return its specification.

    Outputs: `logits` [B, R, T] float32, `hidden` [B, R, E] float32 where `outputs` names it, `present.{i}.key/.value`.

    Raises:
        UsageError: an unknown name in `outputs`.
        UnsupportedError: a matrix that the format cannot hold, or source-exact for a source that is not quantised.
    """
    want_hidden = wants_hidden(outputs)
    config = checkpoint.config
    layers = range(config.num_layers)
    spec = GraphSpec(
        role="target",
        variant="logits",
        precision=precision_json(precision),
        inputs=input_specs(config, precision, layers),
        outputs=(
            TensorSpec("logits", "float32", ("B", "R", "T")),
            *((HIDDEN,) if want_hidden else ()),
            *present_specs(precision, len(layers)),
        ),
        sizes=model_sizes(config, len(layers)),
        windows=tuple(config.layers[layer].window for layer in layers),
        max_positions=config.max_positions,
        cache_dtype=COMPUTE_DTYPES[precision.compute],
        opset=OPSET,
        extra=graph_facts(checkpoint),
    )
    with graph_folder(folder) as target:
        builder = GraphBuilder("target", target.writer, spec.sizes)
        inputs = {tensor.name: builder.input(tensor) for tensor in spec.inputs}
        body = DecoderBody(builder, checkpoint, precision, layers, inputs)
        residual, present = body.build()
        hidden = hidden_rows(body, residual)
        values = {"logits": head_logits(body, hidden), "hidden": hidden}
        for index, (key, value) in enumerate(present):
            values[f"present.{index}.key"], values[f"present.{index}.value"] = key, value
        for tensor in spec.outputs:
            builder.output(tensor, values[tensor.name])
        target.save(builder, spec)
    return spec


def wants_hidden(outputs: Sequence[str]) -> bool:
    """Whether the optional outputs include `hidden`; UsageError for a name that is no optional output."""
    unknown = sorted(set(outputs) - {"hidden"})
    if unknown:
        raise UsageError(f"optional outputs: expected 'hidden', got '{unknown[0]}'")
    return "hidden" in outputs


def precision_json(precision: Precision) -> dict[str, str]:
    """The fields of a precision, as `graph.json` stores them."""
    return {part: getattr(precision, part) for part in ("body", "embedding", "head", "compute")}


def graph_facts(checkpoint: Checkpoint) -> dict[str, object]:
    """What `GraphSpec.extra` says beyond the contract: facts for lowering passes and reports."""
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
