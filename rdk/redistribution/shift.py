"""Shift: d = softmax(hot logits + hot_shift): calibration alone, also for an unpruned head."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from redraft.rdk.prior import RdkPrior
from redraft.rdk.vocabulary import VocabMap

from .base import (
    BASE,
    EMPTY,
    HOT_INDEX,
    LAST_AXIS,
    Float64,
    Redistribution,
    empty_row,
    joint_logits,
)

SHIFTED = """
shifted = Add (hot_logits, hot_shift)
shifted_top = ReduceMax <keepdims = 1> (shifted, last)
shifted_below = Sub (shifted, shifted_top)
shifted_weights = Exp (shifted_below)
shifted_total = ReduceSum <keepdims = 1> (shifted_weights, last)
shifted_log_total = Log (shifted_total)
shifted_base = Add (shifted_log_total, shifted_top)
excess = Sub (shifted_base, base)
"""


class Shift(Redistribution):
    """A fitted offset per kept token."""

    kind = "shift"
    constant_names: ClassVar[tuple[str, ...]] = ("hot_ids", "empty_row", "hot_shift")

    def draft_logits(
        self,
        prior: RdkPrior,
        vocab_map: VocabMap,
        hot_logits: Float64,
        state: Float64 | None,
        soft_cap: float | None,
    ) -> Float64:
        """See `Redistribution`."""
        hot = hot_logits + prior.arrays["hot_shift"]
        cold = np.full((*hot.shape[:-1], vocab_map.num_cold), -np.inf)
        return joint_logits(vocab_map, hot_logits, hot, cold)

    def constants(self, prior: RdkPrior, vocab_map: VocabMap) -> dict[str, NDArray[np.generic]]:
        """hot_ids [D], empty_row [T], hot_shift [D]."""
        return {
            "hot_ids": vocab_map.hot_ids,
            "empty_row": empty_row(vocab_map),
            "hot_shift": prior.arrays["hot_shift"],
        }

    def body(self, soft_cap: float | None) -> str:
        """See `Redistribution`."""
        scatter = """
hot_draft = Sub (shifted, excess)
draft_logits = ScatterElements <axis = -1> (empty, hot_index, hot_draft)
"""
        return LAST_AXIS + BASE + SHIFTED + HOT_INDEX + EMPTY + scatter


class UnprunedShift(Shift):
    """The shift where every row is kept: draft ids are target ids, so nothing is scattered."""

    constant_names = ("hot_shift",)

    def constants(self, prior: RdkPrior, vocab_map: VocabMap) -> dict[str, NDArray[np.generic]]:
        """hot_shift [T]."""
        return {"hot_shift": prior.arrays["hot_shift"]}

    def body(self, soft_cap: float | None) -> str:
        """See `Redistribution`."""
        return LAST_AXIS + BASE + SHIFTED + "draft_logits = Sub (shifted, excess)\n"
