"""TLI: d = s, the pruned drafter's softmax on the kept tokens and nothing elsewhere (arXiv 2502.05202)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft.rdk.prior import RdkPrior
from redraft.rdk.vocabulary import VocabMap

from .base import EMPTY, HOT_INDEX, Float64, Redistribution, empty_row, in_target_order


class Tli(Redistribution):
    """The hot entries of the draft logits are the raw hot logits, bit for bit."""

    kind = "tli"
    constant_names = ("hot_ids", "empty_row")

    def draft_logits(
        self,
        prior: RdkPrior,
        vocab_map: VocabMap,
        hot_logits: Float64,
        state: Float64 | None,
        soft_cap: float | None,
    ) -> Float64:
        """See `Redistribution`."""
        cold = np.full((*hot_logits.shape[:-1], vocab_map.num_cold), -np.inf)
        return in_target_order(vocab_map, hot_logits, cold)

    def constants(self, prior: RdkPrior, vocab_map: VocabMap) -> dict[str, NDArray[np.generic]]:
        """hot_ids [D], empty_row [T]."""
        return {"hot_ids": vocab_map.hot_ids, "empty_row": empty_row(vocab_map)}

    def body(self, soft_cap: float | None) -> str:
        """See `Redistribution`."""
        scatter = "draft_logits = ScatterElements <axis = -1> (empty, hot_index, hot_logits)\n"
        return HOT_INDEX + EMPTY + scatter
