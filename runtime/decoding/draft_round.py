"""DraftRound: the drafts of one round, each drawn from q and kept with the law it was drawn from."""

from __future__ import annotations

from collections.abc import Collection
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from redraft._core.random import Purpose

from .decision_source import DecisionKey, DecisionSource
from .draft_length import DraftLengthPolicy
from .law import Law
from .warp import WarpParams, warp


class DraftRound:
    """A drafter hands in a row of logits for each position and gets the token drawn for it, until `done`."""

    def __init__(
        self,
        *,
        params: WarpParams,
        source: DecisionSource,
        position: int,
        max_drafts: int,
        policy: DraftLengthPolicy,
        stop_ids: Collection[int],
        num_tokens: int,
        buffers: NDArray[np.float32],
    ) -> None:
        """`position`: tokens emitted before the round.

        `buffers` [K, T] float32 hold dense laws until the next round.
        """
        self.token_ids: list[int] = []
        self.laws: list[Law] = []
        self.confidences: list[float] = []
        self.done = max_drafts == 0
        self.seconds = 0.0  # spent in `add`
        self._params, self._source, self._position = params, source, position
        self._max_drafts, self._policy, self._stop_ids = max_drafts, policy, stop_ids
        self._num_tokens, self._buffers = num_tokens, buffers

    def add(self, logits_row: NDArray[np.float32]) -> int:
        """Draw the next draft from the warped law of `logits_row` [T] (redistributed already)."""
        start = perf_counter()
        offset = len(self.token_ids)
        out = self._buffers[offset] if len(self._buffers) else None
        law = warp(logits_row, self._params, num_tokens=self._num_tokens, out=out)
        token = self._source.choose(law, DecisionKey(self._position, offset, Purpose.DRAFT))
        self.token_ids.append(token)
        self.laws.append(law)
        # Every reason to stop is a function of drafted tokens alone: that keeps the output's law.
        self.done = len(self.token_ids) >= self._max_drafts or token in self._stop_ids
        if self._policy.needs_confidence:
            confidence = self._confidence(logits_row, law, token)
            self.confidences.append(confidence)
            self.done = self.done or self._policy.stop_after(confidence)
        self.seconds += perf_counter() - start
        return token

    def _confidence(self, logits_row: NDArray[np.float32], law: Law, token: int) -> float:
        """The unwarped softmax probability of `token`."""
        if self._params.is_dense and self._params.temperature == 1:
            return law.prob(token)
        return warp(logits_row, WarpParams(), num_tokens=self._num_tokens).prob(token)
