"""Unpruned: the identity, for a map that keeps every row and a kind that then has nothing to do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft.rdk.prior import RdkPrior
from redraft.rdk.vocabulary import VocabMap

from .base import Float64, Redistribution


class Unpruned(Redistribution):
    """The draft logits are the hot logits, bit for bit, and no node costs anything."""

    kind = "tli"
    constant_names = ()

    def draft_logits(
        self,
        prior: RdkPrior,
        vocab_map: VocabMap,
        hot_logits: Float64,
        state: Float64 | None,
        soft_cap: float | None,
    ) -> Float64:
        """See `Redistribution`."""
        return hot_logits.copy()

    def constants(self, prior: RdkPrior, vocab_map: VocabMap) -> dict[str, NDArray[np.generic]]:
        """None."""
        return {}

    def body(self, soft_cap: float | None) -> str:
        """See `Redistribution`."""
        return "draft_logits = Identity (hot_logits)\n"
