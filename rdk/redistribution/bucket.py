"""Bucket: d = [(1 - theta) s, theta w], theta from one mean cold row and w a fixed prior over cold tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import UnsupportedError
from redraft.rdk.prior import RdkPrior
from redraft.rdk.vocabulary import VocabMap

from .base import (
    BASE,
    HOT_INDEX,
    JOINT,
    LAST_AXIS,
    NO_PROBABILITY,
    Float64,
    Redistribution,
    joint_logits,
    over_target_rows,
)


class Bucket(Redistribution):
    """The cold logits are ln m + w_mean.h + log w, m the number of cold tokens.

    ln m + mean logit is a lower bound of their logsumexp (Jensen), for logits that are linear in h only;
    hence refused under soft caps. It is the authors' RDK-LB (sgl-project/sglang#8393) with the mean row
    instead of the sum.
    """

    kind = "bucket"
    needs_state = True
    constant_names = ("hot_ids", "cold_bias")

    def draft_logits(
        self,
        prior: RdkPrior,
        vocab_map: VocabMap,
        hot_logits: Float64,
        state: Float64 | None,
        soft_cap: float | None,
    ) -> Float64:
        """See `Redistribution`. UnsupportedError under a soft cap."""
        assert state is not None
        _refuse_cap(soft_cap)
        cold = state + prior.scalars["log_num_cold"] + prior.arrays["cold_log_prior"].astype(np.float64)
        return joint_logits(vocab_map, hot_logits, hot_logits, cold)

    def constants(self, prior: RdkPrior, vocab_map: VocabMap) -> dict[str, NDArray[np.generic]]:
        """hot_ids [D], cold_bias [T] = ln m + log w."""
        bias = prior.arrays["cold_log_prior"] + np.float32(prior.scalars["log_num_cold"])
        return {
            "hot_ids": vocab_map.hot_ids,
            "cold_bias": over_target_rows(vocab_map, bias, NO_PROBABILITY),
        }

    def body(self, soft_cap: float | None) -> str:
        """See `Redistribution`. UnsupportedError under a soft cap."""
        _refuse_cap(soft_cap)
        values = "cold_logits = Add (prior_state, cold_bias)\nhot_values = Identity (hot_logits)\n"
        return LAST_AXIS + BASE + values + HOT_INDEX + JOINT


def _refuse_cap(soft_cap: float | None) -> None:
    if soft_cap is not None:
        raise UnsupportedError(
            "a bucket prior needs logits linear in the hidden state, but this model caps them softly",
            hint="use low-rank or tli",
        )
