"""Dense: d = (1 - epsilon) s + epsilon M^T s, M a row-stochastic kernel (arXiv 2506.03206, Alg. 1)."""

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

DRAFTER_SOFTMAX = """
log_s = Sub (hot_logits, base)
s = Exp (log_s)
"""


class Dense(Redistribution):
    """Only the kernel's hot rows are used: s vanishes elsewhere. epsilon = 1 is the paper's plain form."""

    kind = "dense"
    constant_names = ("hot_ids", "empty_row", "log_keep", "kernel")

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
        spread = s @ _kernel(prior, vocab_map).astype(np.float64)
        return mixture_logits(vocab_map, hot_logits, prior.scalars["epsilon"], spread)

    def constants(self, prior: RdkPrior, vocab_map: VocabMap) -> dict[str, NDArray[np.generic]]:
        """hot_ids [D], empty_row [T], log_keep [], kernel [D, T] times epsilon."""
        epsilon = prior.scalars["epsilon"]
        kernel = _kernel(prior, vocab_map) * np.float32(epsilon)
        return {**mixture_constants(vocab_map, epsilon), "kernel": kernel}

    def body(self, soft_cap: float | None) -> str:
        """See `Redistribution`."""
        spread = "spread = MatMul (s, kernel)\n"
        return LAST_AXIS + BASE + DRAFTER_SOFTMAX + spread + HOT_INDEX + EMPTY + MIXTURE


def _kernel(prior: RdkPrior, vocab_map: VocabMap) -> NDArray[np.float32]:
    """[D, T]: the prior's kernel without the columns of padding rows."""
    kernel = prior.arrays["kernel"]
    if vocab_map.num_tokens < vocab_map.rows:
        kernel = kernel.copy()
        kernel[:, vocab_map.num_tokens :] = 0.0
    return kernel
