"""The drafter's graph: a checkpoint's body with a pruned head, and RDK in its graph form behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from redraft._core.errors import UsageError
from redraft._core.tensor_spec import TensorSpec
from redraft.export.checkpoint.base import Checkpoint
from redraft.export.graph_spec import GraphSpec
from redraft.export.precision import Precision
from redraft.rdk.prior import RdkPrior, check_prior
from redraft.rdk.redistribution import needs_state
from redraft.rdk.vocabulary import VocabMap

from .decoder_graph import graph_facts, optional_outputs, precision_json, start_graph
from .drafter_body import check_rows, drafter_body_digest, kept_layers
from .graph_inputs import COMPUTE_DTYPES, input_specs, model_sizes, present_specs
from .head import head_logits
from .redistribution import add_prior_state, add_redistribution
from .writing import OPSET, graph_folder

DrafterVariant = Literal["redistributed", "factored"]


def export_drafter(
    checkpoint: Checkpoint,
    folder: Path,
    precision: Precision,
    vocab_map: VocabMap,
    prior: RdkPrior,
    *,
    variant: DrafterVariant = "redistributed",
    drop_layers: Sequence[int] = (),
    outputs: Sequence[str] = (),
) -> GraphSpec:
    """Write the drafter's canonical graph into `folder` (replaced as a whole); return its specification.

    The head keeps the rows `vocab_map.target_ids`, in that order; the embedding keeps all. `drop_layers`
    leaves layers of the body out. Outputs by variant, then `hidden` where asked for and the cache:

        redistributed  draft_logits [B, R, T] float32, T = vocab_map.rows
        factored       hot_logits [B, R, D] float32, soft cap included, and prior_state [B, R, r] float32
                       = A h for the kinds that take a state (bucket and low-rank with a pruned head)

    Raises:
        MismatchError: the prior belongs to another map or body, or the map to another head.
        UsageError: an unknown variant or output, or `drop_layers` that are not layers of this checkpoint.
        UnsupportedError, RedraftError: as `export_target`.
    """
    if variant not in ("redistributed", "factored"):
        raise UsageError(f"drafter variant: expected 'redistributed' or 'factored', got '{variant}'")
    config = checkpoint.config
    layers = kept_layers(config.num_layers, drop_layers)
    check_rows(checkpoint, vocab_map.hot_ids)
    body_digest = drafter_body_digest(checkpoint, precision, drop_layers)
    check_prior(prior, vocab_map, body_digest=body_digest, hidden_size=config.hidden_size)
    rank = prior.rank if needs_state(prior.kind, identity=vocab_map.is_identity) else 0
    redistributed = TensorSpec("draft_logits", "float32", ("B", "R", "T"))
    factored = [TensorSpec("hot_logits", "float32", ("B", "R", "D"))]
    if rank:
        factored.append(TensorSpec("prior_state", "float32", ("B", "R", "r")))
    spec = GraphSpec(
        role="drafter",
        variant=variant,
        precision=precision_json(precision),
        inputs=input_specs(config, precision, layers),
        outputs=(
            *([redistributed] if variant == "redistributed" else factored),
            *optional_outputs(outputs),
            *present_specs(precision, len(layers)),
        ),
        sizes={
            **model_sizes(config, len(layers)),
            "T": vocab_map.rows,
            "D": vocab_map.num_hot,
            "C": vocab_map.num_cold,
            "r": rank,
        },
        windows=tuple(config.layers[layer].window for layer in layers),
        max_positions=config.max_positions,
        cache_dtype=COMPUTE_DTYPES[precision.compute],
        opset=OPSET,
        map_digest=vocab_map.digest,
        body_digest=body_digest,
        prior_kind=prior.kind,
        prior_digest=prior.digest,
        extra={
            **graph_facts(checkpoint),
            "drop_layers": sorted(drop_layers),
            "embedding_rows": config.head_rows,
        },
    )
    with graph_folder(folder) as target:
        graph = start_graph(target, spec, checkpoint, precision, layers)
        # A head that keeps all its rows is the unpruned head, bit for bit: it may be the embedding's tensor.
        whole = vocab_map.num_hot == config.head_rows
        hot_logits = head_logits(graph.body, graph.hidden, None if whole else vocab_map.hot_ids)
        graph.values["hot_logits"] = hot_logits
        if rank:
            graph.values["prior_state"] = add_prior_state(graph.builder, prior, graph.hidden)
        if variant == "redistributed":
            state = graph.values.get("prior_state")
            graph.values["draft_logits"] = add_redistribution(
                graph.builder, prior, vocab_map, hot_logits, state, soft_cap=config.logit_soft_cap
            )
        graph.save(target, spec)
    return spec
