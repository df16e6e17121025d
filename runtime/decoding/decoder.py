"""Decoder: a target, an optional drafter and everything that outlives one request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import MismatchError, RequestError, UsageError
from redraft.engines.base import Engine
from redraft.rdk.vocabulary.vocab_map import VocabMap

from .cached_model import CachedModel
from .decision_source import DecisionSource, RandomSource
from .draft_length import ConfidenceThreshold, DraftLengthPolicy, FixedLength
from .generation import Generation, GenerationRequest

if TYPE_CHECKING:
    from redraft.runtime.drafters.base import Drafter

POLICIES = ("fixed", "confidence")


class Decoder:
    """Decodes one request at a time on two engines. Not thread-safe: `LLM` adds the lock.

    The same decoder serves plain and speculative requests, so that both can be compared in one process.
    """

    def __init__(
        self,
        target: Engine,
        drafter_engine: Engine | None = None,
        *,
        num_tokens: int | None = None,
        context: int | None = None,
        capacity: int | None = None,
        num_speculative_tokens: int = 4,
        draft_policy: str = "fixed",
        deterministic: bool = False,
        prefill_chunk: int = 512,
        vocab_map: VocabMap | None = None,
    ) -> None:
        """Allocate both caches.

        Args:
            target: engine of a target graph.
            drafter_engine: engine of a redistributed drafter graph; None decodes plainly.
            num_tokens: tokens of the tokenizer; logit rows from there on are padding. Default: all T rows.
            context: tokens of prompt and output together. Default: what the graphs' positions allow.
            capacity: cache slots, at least context + K + 1. Default: exactly that.
            num_speculative_tokens: K, the most drafts in a round; 0 decodes plainly.
            draft_policy: "fixed" drafts K tokens, "confidence" stops early at an unsure one.
            deterministic: every decoding call of the target is K + 1 tokens wide, plain ones too, so that
                plain and
                speculative greedy decoding agree token for token.
            prefill_chunk: the most prompt tokens in one call.
            vocab_map: the drafter's kept ids, for the statistics outside of it.
        """
        if num_speculative_tokens < 0:
            raise UsageError(f"num_speculative_tokens must not be negative, got {num_speculative_tokens}")
        if draft_policy not in POLICIES:
            raise UsageError(f"draft_policy must be one of {', '.join(POLICIES)}, got '{draft_policy}'")
        rows = target.spec.sizes["T"]
        engines = [target] if drafter_engine is None else [target, drafter_engine]
        self._engines = engines
        if drafter_engine is not None and drafter_engine.spec.sizes["T"] != rows:
            raise MismatchError(
                f"the drafter redistributes over {drafter_engine.spec.sizes['T']} target ids, "
                f"the target has {rows} rows"
            )
        self.num_tokens = rows if num_tokens is None else min(rows, num_tokens)
        self.max_drafts = num_speculative_tokens if drafter_engine is not None else 0
        self.verify_width = num_speculative_tokens + 1
        self.deterministic, self.draft_policy = deterministic, draft_policy
        positions = min(engine.spec.max_positions for engine in engines)
        self.context = self._context(context, capacity, positions)
        capacity = self.context + self.verify_width if capacity is None else capacity
        self.target = CachedModel(
            target, capacity=capacity, context=self.context, prefill_chunk=prefill_chunk
        )
        self.drafter = self._drafter(drafter_engine, capacity, prefill_chunk)
        self.hot_ids: NDArray[np.int64] | None = None
        self.is_hot: NDArray[np.bool_] | None = None
        if vocab_map is not None:
            self.hot_ids = vocab_map.target_ids.astype(np.int64)
            self.is_hot = np.zeros(rows, np.bool_)
            self.is_hot[self.hot_ids] = True
        # Dense laws of a round are views of these; they are allocated by the first request that needs them.
        self.draft_buffers = np.empty((0, rows), np.float32)  # [K, T]
        self.target_buffer = np.empty(0, np.float32)  # [T]

    def generation(
        self,
        request: GenerationRequest,
        source: DecisionSource | None = None,
        *,
        speculative: bool = True,
        policy: DraftLengthPolicy | None = None,
    ) -> Generation:
        """Begin a request; it owns the caches until the next one begins.

        RequestError where the prompt is empty, does not fit or holds an id without a token.
        """
        self.check_prompt(request.prompt_ids)
        max_drafts = self.max_drafts if speculative else 0
        if policy is None:
            kind = ConfidenceThreshold if self.draft_policy == "confidence" else FixedLength
            policy = kind(max_drafts)
        self._reserve_buffers(request, policy.max_drafts)
        return Generation(self, request, source or RandomSource(), policy)

    def decode(
        self, request: GenerationRequest, source: DecisionSource | None = None, *, speculative: bool = True
    ) -> Iterator[list[int]]:
        """The tokens of each round, until the request finishes. Closing the iterator cancels it."""
        generation = self.generation(request, source, speculative=speculative)
        while generation.finish_reason is None:
            yield generation.step()

    def check_prompt(self, prompt_ids: Sequence[int]) -> None:
        """RequestError where a prompt is empty, leaves no room or holds an id without a token."""
        if len(prompt_ids) == 0:
            raise RequestError("the prompt is empty: it holds no token", param="prompt")
        if len(prompt_ids) >= self.context:
            raise RequestError(
                f"the prompt has {len(prompt_ids)} tokens and leaves no room in a context of {self.context}",
                param="prompt",
                hint="shorten the prompt or raise `context`",
            )
        for token in prompt_ids:
            if not 0 <= token < self.num_tokens:
                raise RequestError(
                    f"prompt token id {token} is outside the tokenizer's {self.num_tokens} tokens",
                    param="prompt",
                )

    def close(self) -> None:
        """Free both engines. Idempotent."""
        for engine in self._engines:
            engine.close()

    def _context(self, context: int | None, capacity: int | None, positions: int) -> int:
        if capacity is not None and capacity <= self.verify_width:
            raise UsageError(
                f"cache_capacity {capacity} leaves no room beside a call of {self.verify_width} tokens"
            )
        largest = positions if capacity is None else min(positions, capacity - self.verify_width)
        if context is None:
            return largest
        if not 1 < context <= positions:
            raise UsageError(
                f"context must lie between 2 and the models' {positions} positions, got {context}"
            )
        if context > largest:
            raise UsageError(
                f"a context of {context} needs a cache of {context + self.verify_width} slots, "
                f"cache_capacity is {capacity}",
                hint=f"use cache_capacity={context + self.verify_width} or context={largest}",
            )
        return context

    def _drafter(self, engine: Engine | None, capacity: int, prefill_chunk: int) -> Drafter | None:
        if engine is None or self.max_drafts == 0:
            return None
        from redraft.runtime.drafters.engine_drafter import EngineDrafter

        return EngineDrafter(
            CachedModel(engine, capacity=capacity, context=self.context, prefill_chunk=prefill_chunk)
        )

    def _reserve_buffers(self, request: GenerationRequest, max_drafts: int) -> None:
        if request.warp.is_greedy or (0 < request.warp.top_k < self.num_tokens):
            return
        rows = self.draft_buffers.shape[1]
        if len(self.draft_buffers) < max_drafts:
            self.draft_buffers = np.empty((max_drafts, rows), np.float32)
        if not self.target_buffer.size:
            self.target_buffer = np.empty(rows, np.float32)
