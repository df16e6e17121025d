"""Rolling back: rejected rows must leave no trace in what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import UsageError
from redraft.engines.base import Call, Engine, KVCache

from .check import Check
from .tolerance import engine_tolerance

PREFIX = 12
"""Tokens before the block that is partly rejected."""


def check_rollback(engine: Engine, target_ids: Sequence[int], *, num_drafts: int = 4) -> Check:
    """After every rejection length of a verification of `num_drafts` drafts the cache is what it should be.

    A block of `num_drafts` + 1 tokens is written after a prefix, some of it rejected, and one more token
    written over the first rejected slot. The kept slots and the next logits must be equal, bit for bit,
    whatever the rejected rows held; and within the engine's tolerance of a fresh prefill of the kept tokens.

    UsageError where `target_ids` is shorter than the prefix, the block and one token.
    """
    width = num_drafts + 1
    if len(target_ids) < PREFIX + width + 1:
        raise UsageError(f"the rollback check needs {PREFIX + width + 1} tokens, got {len(target_ids)}")
    rows = engine.spec.sizes["T"]
    traces: list[int] = []
    worst = 0.0
    for kept in range(1, width + 1):
        tokens = list(target_ids[: PREFIX + kept])
        following = int(target_ids[PREFIX + kept])
        seen: list[list[NDArray[Any]]] = []
        for junk in (0, rows // 2):
            block = [*tokens[PREFIX:], *[junk] * (width - kept)]
            cache = engine.allocate_cache(1, PREFIX + width + 1)
            _run(engine, cache, tokens[:PREFIX], 0)
            _run(engine, cache, block, PREFIX)
            logits = _run(engine, cache, [following], len(tokens))
            seen.append([logits, *_kept(engine, cache, len(tokens) + 1)])
        if not all(np.array_equal(one, other) for one, other in zip(*seen, strict=True)):
            traces.append(width - kept)
        fresh = engine.allocate_cache(1, PREFIX + width + 1)
        logits = _run(engine, fresh, [*tokens, following], 0)
        worst = max(worst, float(np.abs(seen[0][0] - logits).max()))
    tolerance = engine_tolerance(engine.spec)
    close = worst <= tolerance.absolute + tolerance.relative * float(np.abs(logits).max())
    sentence = f"blocks of {width} with 0 to {num_drafts} rejected rows: "
    if traces:
        sentence += f"rejecting {', '.join(map(str, traces))} leaves a trace"
    else:
        sentence += f"no trace; largest difference from a fresh prefill {worst:.2g}"
    figures = {"rejected_with_trace": traces, "max_abs_error": worst}
    return Check(f"{engine.spec.role} on {engine.backend}: rollback", not traces and close, sentence, figures)


def _run(engine: Engine, cache: KVCache, tokens: Sequence[int], start: int) -> NDArray[np.float32]:
    """Logits [T] after the last token; the "no probability" of a drafter's logits becomes 0."""
    width = len(tokens)
    ids = np.array([tokens], np.int64)
    position = start + np.arange(width)[None]
    outputs = engine.run(
        Call(ids, position, np.array([start], np.int64), np.array([[width - 1]], np.int64)), cache
    )
    logits = next(value for name, value in outputs.items() if name.endswith("logits"))[0, 0]
    return np.where(logits <= -1e29, np.float32(0), logits)


def _kept(engine: Engine, cache: KVCache, length: int) -> list[NDArray[Any]]:
    layers = range(engine.spec.num_layers)
    return [array[:, :, :length] for layer in layers for array in cache.read(layer)]
