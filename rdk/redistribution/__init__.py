"""Redistribution: from the pruned drafter's logits to a distribution over the whole target vocabulary."""

from .base import NO_PROBABILITY
from .graph import DOMAIN, OP_TYPE, needs_state, rdk_function, rdk_node_inputs
from .reference import distribution, reference

__all__ = [
    "DOMAIN",
    "NO_PROBABILITY",
    "OP_TYPE",
    "distribution",
    "needs_state",
    "rdk_function",
    "rdk_node_inputs",
    "reference",
]
