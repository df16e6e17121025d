"""The target's graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redraft._core.tensor_spec import TensorSpec
from redraft.export.checkpoint.base import Checkpoint
from redraft.export.graph_spec import GraphSpec
from redraft.export.precision import Precision

from .decoder_graph import graph_facts, optional_outputs, precision_json, start_graph
from .graph_inputs import COMPUTE_DTYPES, input_specs, model_sizes, present_specs
from .head import head_logits
from .writing import OPSET, graph_folder


def export_target(
    checkpoint: Checkpoint, folder: Path, precision: Precision, *, outputs: Sequence[str] = ()
) -> GraphSpec:
    """Write the checkpoint's canonical graph into `folder` (replaced as a whole); return its specification.

    Outputs: `logits` [B, R, T] float32, `hidden` [B, R, E] float32 where `outputs` names it, then
    `present.{i}.key/.value`.

    Raises:
        UsageError: an unknown name in `outputs`.
        UnsupportedError: a matrix that the format cannot hold, or source-exact for a source that is not
            quantised.
        RedraftError: the folder cannot be written; nothing is left behind.
    """
    config = checkpoint.config
    layers = range(config.num_layers)
    spec = GraphSpec(
        role="target",
        variant="logits",
        precision=precision_json(precision),
        inputs=input_specs(config, precision, layers),
        outputs=(
            TensorSpec("logits", "float32", ("B", "R", "T")),
            *optional_outputs(outputs),
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
        graph = start_graph(target, spec, checkpoint, precision, layers)
        graph.values["logits"] = head_logits(graph.body, graph.hidden)
        graph.save(target, spec)
    return spec
