"""Generation: one request, advanced a round at a time. This is the speculative loop.

A round: draft up to K tokens from q, call the target once over the last token and the drafts, accept a
prefix, emit the correction or bonus token, move both length counters back. Plain decoding is the same round
with no drafts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from redraft._core.random import Purpose

from . import acceptance_rule
from .decision_source import DecisionKey, DecisionSource
from .draft_length import DraftLengthPolicy
from .draft_round import DraftRound
from .law import Law
from .stats import DecodingStats
from .warp import WarpParams, warp

if TYPE_CHECKING:
    from .decoder import Decoder


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """What to decode.

    `stop_ids` end the text (and are emitted); `max_tokens` None: as far as the context goes.
    """

    prompt_ids: tuple[int, ...]
    warp: WarpParams = field(default_factory=WarpParams)
    max_tokens: int | None = None
    stop_ids: frozenset[int] = frozenset()


class Generation:
    """The state of one request.

    Between rounds the target's cache holds all tokens but the last, the drafter's at most as many: each
    call ingests what its model has not seen, which after a fully accepted round is the last draft and the
    bonus token.
    """

    def __init__(
        self, decoder: Decoder, request: GenerationRequest, source: DecisionSource, policy: DraftLengthPolicy
    ) -> None:
        """Use `Decoder.generation`, which checks the request."""
        self.stats = DecodingStats()
        self.finish_reason: str | None = None  # "stop" or "length"
        self.token_ids = list(request.prompt_ids)
        self.decoder, self.policy = decoder, policy
        self._request, self._source = request, source
        self._prompt_len = len(request.prompt_ids)
        self._is_draft: list[bool] = []  # of each output token: an accepted draft, or the target's own
        room = decoder.context - self._prompt_len
        self._limit = room if request.max_tokens is None else min(room, request.max_tokens)
        decoder.target.rollback(0)
        if decoder.drafter is not None:
            decoder.drafter.commit(0)

    @property
    def output_ids(self) -> list[int]:
        """The tokens emitted so far."""
        return self.token_ids[self._prompt_len :]

    @property
    def num_emitted(self) -> int:
        """How many tokens were emitted so far."""
        return len(self.token_ids) - self._prompt_len

    def num_accepted_of(self, num_tokens: int) -> int:
        """How many of the first `num_tokens` output tokens are accepted drafts."""
        return sum(self._is_draft[:num_tokens])

    def step(self) -> list[int]:
        """Run one round; the tokens it emits (1 to K + 1). `finish_reason` is set when it was the last."""
        assert self.finish_reason is None, "a finished generation takes no further step"
        started, before = perf_counter(), sum(self.stats.seconds.values())
        draft = self._draft()
        rows = self._verify(draft.token_ids)
        accept_start = perf_counter()
        num_accepted, last = self._accept(draft, rows)
        self.stats.seconds["accept"] += perf_counter() - accept_start
        self.policy.update(draft.confidences, num_accepted)
        emitted = self._emit([*draft.token_ids[:num_accepted], last])
        self._is_draft += [index < num_accepted for index in range(len(emitted))]
        self._count(draft, num_accepted, len(emitted))
        self.stats.seconds["host"] += perf_counter() - started - (sum(self.stats.seconds.values()) - before)
        return emitted

    def _draft(self) -> DraftRound:
        decoder, request = self.decoder, self._request
        # The last token before the limit comes from the target in any case.
        max_drafts = min(self.policy.max_drafts, self._limit - self.num_emitted - 1)
        draft = DraftRound(
            params=request.warp,
            source=self._source,
            position=self.num_emitted,
            max_drafts=max_drafts if decoder.drafter is not None else 0,
            policy=self.policy,
            stop_ids=request.stop_ids,
            num_tokens=decoder.num_tokens,
            buffers=decoder.draft_buffers,
        )
        if not draft.done and decoder.drafter is not None:
            start = perf_counter()
            decoder.drafter.propose(self.token_ids, draft)
            self.stats.seconds["sample"] += draft.seconds
            self.stats.seconds["draft"] += perf_counter() - start - draft.seconds
        return draft

    def _verify(self, draft_ids: list[int]) -> NDArray[np.float32]:
        """The target's logits [len(draft_ids) + 1, T] at the position of each draft and after the last."""
        target = self.decoder.target
        start = perf_counter()
        unseen = self.token_ids[target.length : -1]
        if unseen:
            target.prefill(unseen)
            self.stats.seconds["prefill"] += perf_counter() - start
            start = perf_counter()
        width = self.decoder.verify_width if self.decoder.deterministic else None
        rows = target.extend([self.token_ids[-1], *draft_ids], num_logits=len(draft_ids) + 1, width=width)
        self.stats.seconds["verify"] += perf_counter() - start
        return rows

    def _accept(self, draft: DraftRound, rows: NDArray[np.float32]) -> tuple[int, int]:
        """How many drafts are accepted, and the token that follows them.

        Target laws are computed only as far as needed.
        """
        position, source = self.num_emitted, self._source
        for offset, (token, q) in enumerate(zip(draft.token_ids, draft.laws, strict=True)):
            p = self._target_law(rows[offset])
            probability = acceptance_rule.accept_probability(p, q, token)
            if not source.accept(probability, DecisionKey(position, offset, Purpose.ACCEPT)):
                law = acceptance_rule.residual(p, q)
                return offset, source.choose(law, DecisionKey(position, offset, Purpose.RESIDUAL))
        offset = len(draft.token_ids)
        p = self._target_law(rows[offset])
        return offset, source.choose(p, DecisionKey(position, offset, Purpose.BONUS))

    def _target_law(self, row: NDArray[np.float32]) -> Law:
        decoder = self.decoder
        buffer = decoder.target_buffer if decoder.target_buffer.size else None
        law = warp(row, self._request.warp, num_tokens=decoder.num_tokens, out=buffer)
        if decoder.hot_ids is not None and decoder.is_hot is not None:
            self.stats.target_positions += 1
            self.stats.target_mass_outside += 1.0 - law.mass(decoder.hot_ids, decoder.is_hot)
        return law

    def _emit(self, token_ids: list[int]) -> list[int]:
        """Append a round's tokens up to the first stop id, and move the length counters back."""
        for index, token in enumerate(token_ids):
            if token in self._request.stop_ids:
                token_ids = token_ids[: index + 1]
                self.finish_reason = "stop"
                break
        self.token_ids += token_ids
        if self.finish_reason is None and self.num_emitted >= self._limit:
            self.finish_reason = "length"
        kept = len(self.token_ids) - 1
        self.decoder.target.rollback(kept)
        if self.decoder.drafter is not None:
            self.decoder.drafter.commit(kept)
        return token_ids

    def _count(self, draft: DraftRound, num_accepted: int, num_emitted: int) -> None:
        num_accepted = min(num_accepted, num_emitted)
        self.stats.add_round(len(draft.token_ids), num_accepted, num_emitted)
        decoder = self.decoder
        if decoder.hot_ids is None or decoder.is_hot is None:
            return
        outside = [not decoder.is_hot[token] for token in draft.token_ids]
        self.stats.oov_proposed += sum(outside)
        self.stats.oov_accepted += sum(outside[:num_accepted])
        for law in draft.laws:
            self.stats.draft_mass_outside += 1.0 - law.mass(decoder.hot_ids, decoder.is_hot)
