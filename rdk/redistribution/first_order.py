"""First-order: d = (1 - epsilon) s + epsilon (1 + Omega s / tau) / tokens in O(T r), negatives clamped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft.rdk.prior import RdkPrior
from redraft.rdk.vocabulary import VocabMap

from .base import (
    BASE,
    EMPTY,
    HOT_INDEX,
    LAST_AXIS,
    MIXTURE,
    Float64,
    Redistribution,
    log_sum_exp,
    mixture_constants,
    mixture_logits,
)
from .dense import DRAFTER_SOFTMAX

_LEAST = 1e-30


class FirstOrder(Redistribution):
    """The first-order expansion of the dense softmax kernel, with Omega = factor @ factor.T never formed.

    The kernel's part, not d as a whole, is clamped and renormalised: d >= (1 - epsilon) s at every token, so
    the acceptance is at least (1 - epsilon) times that of TLI.
    """

    kind = "first-order"
    constant_names = (
        "hot_ids",
        "empty_row",
        "log_keep",
        "epsilon",
        "factor_hot",
        "factor_columns",
        "uniform",
    )

    def draft_logits(
        self,
        prior: RdkPrior,
        vocab_map: VocabMap,
        hot_logits: Float64,
        state: Float64 | None,
        soft_cap: float | None,
    ) -> Float64:
        """See `Redistribution`."""
        s = np.exp(hot_logits - log_sum_exp(hot_logits))
        factor = _factor(prior, vocab_map).astype(np.float64)
        tilt = (s @ factor[vocab_map.target_ids]) @ factor.T / prior.scalars["tau"]
        is_token = np.arange(vocab_map.rows) < vocab_map.num_tokens
        spread = np.where(is_token, np.maximum(1.0 + tilt, 0.0), 0.0) / vocab_map.num_tokens
        spread /= np.maximum(spread.sum(axis=-1, keepdims=True), _LEAST)
        return mixture_logits(vocab_map, hot_logits, prior.scalars["epsilon"], spread)

    def constants(self, prior: RdkPrior, vocab_map: VocabMap) -> dict[str, NDArray[np.generic]]:
        """hot_ids [D], empty_row [T], log_keep [], epsilon [], factor_hot [D, r] and two more.

        factor_columns [r, T] is factor.T / (tau tokens); uniform [T] is 1 / tokens, and 0 at padding rows.
        """
        factor = _factor(prior, vocab_map).astype(np.float64)
        epsilon, num_tokens = prior.scalars["epsilon"], vocab_map.num_tokens
        uniform = np.zeros(vocab_map.rows, dtype=np.float32)
        uniform[:num_tokens] = 1.0 / num_tokens
        return {
            **mixture_constants(vocab_map, epsilon),
            "epsilon": np.array(epsilon, dtype=np.float32),
            "factor_hot": factor[vocab_map.target_ids].astype(np.float32),
            "factor_columns": (factor.T / (prior.scalars["tau"] * num_tokens)).astype(np.float32),
            "uniform": uniform,
        }

    def body(self, soft_cap: float | None) -> str:
        """See `Redistribution`."""
        spread = f"""
weights = MatMul (s, factor_hot)
tilt = MatMul (weights, factor_columns)
tilted = Add (tilt, uniform)
affinity = Relu (tilted)
affinity_total = ReduceSum <keepdims = 1> (affinity, last)
affinity_least = Constant <value_float = {_LEAST!r}> ()
affinity_norm = Max (affinity_total, affinity_least)
affinity_share = Div (epsilon, affinity_norm)
spread = Mul (affinity, affinity_share)
"""
        return LAST_AXIS + BASE + DRAFTER_SOFTMAX + spread + HOT_INDEX + EMPTY + MIXTURE


def _factor(prior: RdkPrior, vocab_map: VocabMap) -> NDArray[np.float32]:
    """[T, r]: the prior's factor without padding rows."""
    factor = prior.arrays["factor"]
    if vocab_map.num_tokens < vocab_map.rows:
        factor = factor.copy()
        factor[vocab_map.num_tokens :] = 0.0
    return factor
