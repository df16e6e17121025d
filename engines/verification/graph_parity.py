"""A canonical graph against its checkpoint, through the NumPy reference: parity without torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from redraft.export.checkpoint.base import Checkpoint
from redraft.export.graph_spec import GraphSpec
from redraft.rdk.prior import RdkPrior
from redraft.rdk.vocabulary import VocabMap

from .call_plan import NUM_TOKENS, plan_calls
from .canonical_runner import CanonicalRunner
from .check import Check
from .logit_figures import compare_logits
from .reference_decoder import reference_forward
from .stored_checkpoint import StoredCheckpoint
from .tolerance import graph_tolerance


def check_graph(
    graph: Path,
    checkpoint: Checkpoint,
    target_ids: Sequence[int],
    *,
    vocab_map: VocabMap | None = None,
    prior: RdkPrior | None = None,
) -> Check:
    """Parity of the graph in folder `graph` with the weights it was exported from.

    The reference computes the whole sequence at once in float32 without a cache, from the checkpoint's
    weights rounded as the graph stores them; the graph runs in several calls on a warm cache. A drafter's
    logits go through the float64 definition of redistribution, for which `vocab_map` and `prior` are needed.
    """
    spec = GraphSpec.read(graph)
    runner = CanonicalRunner(graph, capacity=NUM_TOKENS + 11)
    name = "draft_logits" if spec.role == "drafter" else "logits"
    actual = np.concatenate([runner.run(call)[name][0] for call in plan_calls(target_ids)])
    ids = np.array(target_ids[:NUM_TOKENS], np.int64)
    expected = reference_logits(StoredCheckpoint(checkpoint, spec), ids, vocab_map=vocab_map, prior=prior)
    tolerance = graph_tolerance(spec)
    figures = compare_logits(actual, expected, tolerance)
    return Check(
        f"{spec.role} graph: parity with its checkpoint",
        figures.within(tolerance),
        f"{figures.rows} rows: largest logit error {figures.max_abs_error:.2g} against a NumPy reference of "
        f"{checkpoint.source.uri}, best token equal in {figures.argmax_agreement:.1%}",
        figures.to_json(),
    )


def reference_logits(
    checkpoint: Checkpoint,
    target_ids: NDArray[np.int64],  # [S]
    *,
    vocab_map: VocabMap | None = None,
    prior: RdkPrior | None = None,
) -> NDArray[np.floating]:
    """[S, T]: the target's logits, or with map and prior the drafter's redistributed ones."""
    if vocab_map is None or prior is None:
        return reference_forward(checkpoint, target_ids)[0]
    from redraft.rdk.redistribution import reference

    hot_logits, hidden = reference_forward(checkpoint, target_ids, head_rows=vocab_map.hot_ids)
    return reference(prior, vocab_map, hot_logits, hidden, soft_cap=checkpoint.config.logit_soft_cap)
