"""The definition of redistribution in float64, against which every other form is tested."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import UsageError
from redraft.rdk.prior import RdkPrior, check_prior
from redraft.rdk.vocabulary import VocabMap

from .base import NO_PROBABILITY, Float64, log_sum_exp
from .registry import redistribution


def reference(
    prior: RdkPrior,
    vocab_map: VocabMap,
    hot_logits: NDArray[np.floating],  # [..., D]
    hidden: NDArray[np.floating] | None = None,  # [..., E]
    *,
    soft_cap: float | None = None,
) -> Float64:
    """Draft logits [..., T] float64: log d + logsumexp(hot_logits), `NO_PROBABILITY` where d is 0.

    hidden is the head's input, needed by bucket and low-rank. hot_logits are as the head gives them, so
    already capped where the model caps its logits; soft_cap then acts on the cold logits of low-rank.

    Raises MismatchError where the prior is not for this map; UsageError where hidden is missing.
    """
    hidden_size = None if hidden is None else hidden.shape[-1]
    check_prior(prior, vocab_map, hidden_size=hidden_size)
    if hot_logits.shape[-1] != vocab_map.num_hot:
        raise UsageError(f"hot logits: expected [..., {vocab_map.num_hot}], got {list(hot_logits.shape)}")
    kind = redistribution(prior.kind, identity=vocab_map.is_identity)
    state = None
    if kind.needs_state:
        if hidden is None:
            raise UsageError(f"a {prior.kind} prior needs the hidden states of the head beside its logits")
        state = hidden.astype(np.float64) @ prior.arrays["state"].astype(np.float64).T
    logits = kind.draft_logits(prior, vocab_map, hot_logits.astype(np.float64), state, soft_cap)
    return np.where(np.isneginf(logits), NO_PROBABILITY, logits)


def distribution(draft_logits: NDArray[np.floating]) -> Float64:
    """d [..., T] float64 from draft logits: their softmax, exactly 0 where there is no probability."""
    logits = draft_logits.astype(np.float64)
    logits = np.where(logits <= NO_PROBABILITY / 2, -np.inf, logits)
    return np.exp(logits - log_sum_exp(logits))
