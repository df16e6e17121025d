"""Places RDK in the drafter's graph: the prior's state beside the head, the node redraft::RdkRedistribute."""

from __future__ import annotations

import onnx_ir as ir

from redraft.rdk.prior import RdkPrior
from redraft.rdk.redistribution import rdk_function, rdk_node_inputs
from redraft.rdk.vocabulary import VocabMap

from .parts import StoredMatrix, linear
from .writing import FLOAT, GraphBuilder

RDK_NODE = "rdk"
"""Name of the node."""


def add_prior_state(builder: GraphBuilder, prior: RdkPrior, hidden: ir.Value) -> ir.Value:
    """prior_state [B, R, r] float32 = hidden [B, R, E] times the transpose of the prior's `state` [r, E]."""
    state = builder.weight("rdk_state.weight", prior.arrays["state"])
    return linear(builder, "rdk_state", hidden, StoredMatrix(state, "fp32"))


def add_redistribution(
    builder: GraphBuilder,
    prior: RdkPrior,
    vocab_map: VocabMap,
    hot_logits: ir.Value,
    prior_state: ir.Value | None,
    *,
    soft_cap: float | None,
) -> ir.Value:
    """draft_logits [B, R, T] float32: the node `rdk`, its model-local function, its constants `rdk.<name>`.

    Inputs of the node: hot_logits, prior_state for the kinds that take one, then the constants in the order
    of `rdk_node_inputs`. UnsupportedError for bucket under a soft cap.
    """
    constants = rdk_node_inputs(prior, vocab_map)
    function = rdk_function(prior.kind, identity=vocab_map.is_identity, soft_cap=soft_cap)
    builder.functions.append(function)
    builder.graph.opset_imports[function.domain] = 1
    weights = [builder.weight(f"{RDK_NODE}.{name}", array) for name, array in constants.items()]
    return builder.op(
        function.name,
        [hot_logits, *([] if prior_state is None else [prior_state]), *weights],
        RDK_NODE,
        dtype=FLOAT,
        domain=function.domain,
        metadata={"redraft.role": "redistribution", "redraft.kind": prior.kind},
    )
