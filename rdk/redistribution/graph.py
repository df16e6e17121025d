"""The graph form: the model-local ONNX function `redraft::RdkRedistribute` and its constant inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from redraft.rdk.prior import RdkPrior, check_prior
from redraft.rdk.vocabulary import VocabMap

from .registry import redistribution

if TYPE_CHECKING:
    import onnx_ir

DOMAIN = "redraft"
OP_TYPE = "RdkRedistribute"
OPSET = 24


def needs_state(kind: str, *, identity: bool = False) -> bool:
    """Whether the node takes prior_state [B, R, r] = hidden @ state.T as its second input."""
    return redistribution(kind, identity=identity).needs_state


def rdk_node_inputs(prior: RdkPrior, vocab_map: VocabMap) -> dict[str, NDArray[np.generic]]:
    """Name -> constant input of the node, in order, after hot_logits and (where `needs_state`) prior_state.

    Raises MismatchError where the prior is not for this map.
    """
    check_prior(prior, vocab_map)
    kind = redistribution(prior.kind, identity=vocab_map.is_identity)
    constants = kind.constants(prior, vocab_map)
    return {name: np.require(constants[name], requirements="C") for name in kind.constant_names}


def rdk_function(kind: str, *, identity: bool = False, soft_cap: float | None = None) -> onnx_ir.Function:
    """The function of `kind`: (hot_logits, [prior_state], *constants) -> draft_logits [B, R, T] float32.

    The constants are those of `rdk_node_inputs`. identity says that the map keeps every row; the node then
    is an Identity (tli, bucket) or the shift alone (low-rank). The shapes of B and R are free.

    Raises UsageError (unknown kind) and UnsupportedError (bucket under a soft cap).
    """
    import onnx_ir
    from onnx.parser import parse_function

    form = redistribution(kind, identity=identity)
    names = ["hot_logits", *(["prior_state"] if form.needs_state else []), *form.constant_names]
    text = f"""<domain: "{DOMAIN}", opset_import: ["" : {OPSET}]>
{OP_TYPE} ({", ".join(names)}) => (draft_logits)
{{
{form.body(soft_cap)}
}}"""
    return onnx_ir.serde.deserialize_function(parse_function(text))
