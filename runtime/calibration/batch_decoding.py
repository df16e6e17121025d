"""BatchDecoder: plain decoding of several prompts in one call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redraft._core.errors import RequestError, UsageError
from redraft._core.random import Purpose
from redraft.engines.base import Engine
from redraft.rdk.vocabulary import TokenizerInfo
from redraft.runtime.decoding import CachedModel, DecisionKey, RandomSource, WarpParams, warp

from .calibration_text import TextSequence

_MAX_PROMPT = 256
"""Longest prompt in tokens: prompts of a batch go through one call, padded to the longest."""


class BatchDecoder:
    """Rows of one cache, each a prompt. A row that has ended feeds padding until the last row ends."""

    def __init__(
        self,
        engine: Engine,
        tokenizer: TokenizerInfo,
        *,
        batch: int,
        max_tokens: int,
        temperature: float,
        seed: int,
    ) -> None:
        """Allocate a cache of `batch` rows; UsageError where `max_tokens` leaves no room for a prompt."""
        positions = engine.spec.max_positions
        self._max_prompt = min(_MAX_PROMPT, positions - max_tokens)
        if self._max_prompt < 1:
            raise UsageError(
                f"{max_tokens} tokens a prompt leave no room in the model's {positions} positions"
            )
        context = self._max_prompt + max_tokens
        self._model = CachedModel(engine, batch=batch, context=context, capacity=context + self._max_prompt)
        self._num_tokens = min(tokenizer.size, engine.spec.sizes["T"])
        self._stop_ids = frozenset(tokenizer.stop_ids)
        self._batch, self._max_tokens = batch, max_tokens
        self._params, self._source = WarpParams(temperature=temperature), RandomSource(seed)

    def decode(
        self, topics: Sequence[str], prompts: Sequence[Sequence[int]], first: int
    ) -> tuple[TextSequence, ...]:
        """The sequences of as many prompts as there are rows; `first` numbers them for the random words."""
        assert len(prompts) == self._batch
        if not all(prompts):
            raise RequestError("a calibration prompt is empty: it holds no token", param="prompt")
        kept = [list(prompt[: self._max_prompt]) for prompt in prompts]
        outputs: list[list[int]] = [[] for _ in kept]
        running = [True] * self._batch
        logits = self._prefill(kept)
        while True:
            for row in range(self._batch):
                if running[row]:
                    token = self._choose(logits[row, 0], len(outputs[row]), first + row)
                    outputs[row].append(token)
                    running[row] = token not in self._stop_ids and len(outputs[row]) < self._max_tokens
            if not any(running):
                break
            last = np.array([[output[-1]] for output in outputs], np.int64)
            logits = self._model.forward(
                last, np.zeros((self._batch, 1), np.int64), np.array(running, np.int64)
            )
        rows = zip(topics, kept, outputs, strict=True)
        return tuple(TextSequence(topic, tuple(prompt), tuple(output)) for topic, prompt, output in rows)

    def _prefill(self, prompts: Sequence[Sequence[int]]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        """Logits [B, 1, T] after each prompt."""
        self._model.rollback(0)
        lengths = np.array([len(prompt) for prompt in prompts], np.int64)
        padded = np.zeros((self._batch, int(lengths.max())), np.int64)
        for row, prompt in enumerate(prompts):
            padded[row, : len(prompt)] = prompt
        return self._model.forward(padded, lengths[:, None] - 1, lengths)

    def _choose(self, row: np.ndarray[tuple[int], np.dtype[np.float32]], position: int, sequence: int) -> int:
        law = warp(row, self._params, num_tokens=self._num_tokens)
        return self._source.choose(law, DecisionKey(position, sequence, Purpose.CALIBRATION))
