"""Engines whose logits depend on what their cache holds, so that a wrong length changes the law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft.engines.base import Call, Engine, KVCache
from redraft.export.graph_spec import GraphSpec

LogitsOf = Callable[[tuple[int, ...]], NDArray[np.float32]]
"""Context (prompt and output so far, as target ids) -> logits [T] of the next token."""

UNWRITTEN = -1


class FakeCache(KVCache):
    """Slots that hold token ids."""

    def __init__(self, batch: int, capacity: int) -> None:
        self.batch, self.capacity = batch, capacity
        self.slots = np.full((batch, capacity), UNWRITTEN, np.int64)

    @property
    def num_bytes(self) -> int:
        return self.slots.nbytes

    def read(self, layer: int) -> tuple[NDArray[Any], NDArray[Any]]:
        keys = self.slots[:, None, :, None].astype(np.float32)
        return keys, keys.copy()


class FakeEngine(Engine):
    """Tabulated logits. Output buffers are reused from call to call, as a real engine's are."""

    backend = "fake"

    def __init__(
        self, logits_of: LogitsOf, num_rows: int, *, drafter: bool = False, max_positions: int = 64
    ) -> None:
        self.logits_of = logits_of
        self.calls: list[tuple[int, int]] = []  # (S, R) of each run
        self.closed = False
        self._output = "draft_logits" if drafter else "logits"
        self._buffers: dict[tuple[int, ...], NDArray[np.float32]] = {}
        self.spec = GraphSpec(
            role="drafter" if drafter else "target",
            variant="redistributed" if drafter else "logits",
            precision={},
            inputs=(),
            outputs=(),
            sizes={"T": num_rows, "L": 1},
            windows=(None,),
            max_positions=max_positions,
            cache_dtype="float32",
            opset=24,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> FakeEngine:
        return self

    def allocate_cache(self, batch: int, capacity: int) -> FakeCache:
        return FakeCache(batch, capacity)

    def run(self, call: Call, cache: KVCache) -> dict[str, NDArray[Any]]:
        assert isinstance(cache, FakeCache)
        batch, width = call.input_ids.shape
        self.calls.append((width, call.logit_rows.shape[1]))
        shape = (*call.logit_rows.shape, self.spec.sizes["T"])
        logits = self._buffers.setdefault(shape, np.empty(shape, np.float32))
        for b in range(batch):
            start = int(call.write_pos[b])
            assert start + width <= cache.capacity
            cache.slots[b, start : start + width] = call.input_ids[b]
            contents = cache.slots[b].tolist()
            for r, row in enumerate(call.logit_rows[b].tolist()):
                assert 0 <= row < width
                logits[b, r] = self.logits_of(tuple(contents[: start + row + 1]))
        return {self._output: logits}

    def close(self) -> None:
        self.closed = True


def random_table(seed: int, num_rows: int, *, scale: float = 1.5) -> LogitsOf:
    """Logits drawn once for each context: as unrelated from one context to the next as can be."""
    table: dict[tuple[int, ...], NDArray[np.float32]] = {}

    def logits_of(context: tuple[int, ...]) -> NDArray[np.float32]:
        if context not in table:
            key = [seed, *(token + 2 for token in context)]
            table[context] = np.random.default_rng(key).normal(0, scale, num_rows).astype(np.float32)
        return table[context]

    return logits_of


def scripted_table(tokens: Sequence[int], num_rows: int, prompt_len: int, *, otherwise: int = 0) -> LogitsOf:
    """A model that writes `tokens` after a prompt of `prompt_len` tokens, then `otherwise`."""

    def logits_of(context: tuple[int, ...]) -> NDArray[np.float32]:
        index = len(context) - prompt_len
        row = np.zeros(num_rows, np.float32)
        row[tokens[index] if 0 <= index < len(tokens) else otherwise] = 20.0
        return row

    return logits_of
