"""Low-rank: cold logits B z + b from the state z = A h, hot logits shifted, one softmax over both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    cap_text,
    joint_logits,
    over_target_rows,
)


class LowRank(Redistribution):
    """Under a soft cap the cap acts on B z, before b is added, as it does on the drafter's own logits.

    The graph form keeps B as [r, T] with zero columns at hot rows. The product then wastes D / T of its
    work but lands in target order, and only the D hot logits are scattered into it: a gather of T entries
    from [hot, cold] costs several times as much (docs/rdk.md).
    """

    kind = "low-rank"
    needs_state = True
    constant_names = ("hot_ids", "cold_rows", "cold_bias", "hot_shift")

    def draft_logits(
        self,
        prior: RdkPrior,
        vocab_map: VocabMap,
        hot_logits: Float64,
        state: Float64 | None,
        soft_cap: float | None,
    ) -> Float64:
        """See `Redistribution`."""
        assert state is not None
        arrays = prior.arrays
        projected = state @ arrays["cold"].astype(np.float64).T
        if soft_cap is not None:
            projected = soft_cap * np.tanh(projected / soft_cap)
        cold = projected + arrays["cold_bias"]
        return joint_logits(vocab_map, hot_logits, hot_logits + arrays["hot_shift"], cold)

    def constants(self, prior: RdkPrior, vocab_map: VocabMap) -> dict[str, NDArray[np.generic]]:
        """hot_ids [D], cold_rows [r, T], cold_bias [T], hot_shift [D]."""
        return {
            "hot_ids": vocab_map.hot_ids,
            "cold_rows": over_target_rows(vocab_map, prior.arrays["cold"].T, 0.0),
            "cold_bias": over_target_rows(vocab_map, prior.arrays["cold_bias"], NO_PROBABILITY),
            "hot_shift": prior.arrays["hot_shift"],
        }

    def body(self, soft_cap: float | None) -> str:
        """See `Redistribution`."""
        cold = "projected = MatMul (prior_state, cold_rows)\n" + cap_text(soft_cap)
        hot = "cold_logits = Add (capped, cold_bias)\nhot_values = Add (hot_logits, hot_shift)\n"
        return LAST_AXIS + BASE + cold + hot + HOT_INDEX + JOINT
