"""Teacher forcing: the logits and hidden states of a model along given text, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import RedraftError, UsageError
from redraft.engines.base import Call, Engine

from .calibration_text import CalibrationText

_LOGITS = {"logits": "logits", "redistributed": "draft_logits"}
_CHUNK_BYTES = 64 << 20
_WIDEST_CHUNK = 64


@dataclass(frozen=True, slots=True)
class RowChunk:
    """Consecutive positions of one sequence. Views of reused buffers: valid until the next chunk."""

    logits: NDArray[np.float32]  # [n, T], of the token after each position
    hidden: NDArray[np.float32] | None  # [n, E], input of the head, where the graph gives it
    next_ids: NDArray[np.int64]  # [n] target ids that follow in the text


def teacher_forced(engine: Engine, text: CalibrationText, *, chunk: int | None = None) -> Iterator[RowChunk]:
    """Every position whose next token was written by the target, in order.

    All calls that give rows have one shape of `chunk` tokens, so that memory stays at one buffer of logits
    (of at most 64 MiB by default) and the cache of the longest sequence.

    UsageError where a sequence is longer than the model's positions.
    """
    rows = engine.spec.sizes["T"]
    width = chunk or int(np.clip(_CHUNK_BYTES // (4 * rows), 1, _WIDEST_CHUNK))
    longest = max((len(sequence.ids) for sequence in text.sequences), default=0)
    if longest > engine.spec.max_positions:
        raise UsageError(
            f"a calibration sequence has {longest} tokens, the model {engine.spec.max_positions} positions"
        )
    if not longest:
        return
    cache = engine.allocate_cache(1, longest + width)
    every_row = np.arange(width)[None]
    name = _LOGITS.get(engine.spec.variant, "")
    for sequence in text.sequences:
        first, last = len(sequence.prompt_ids) - 1, len(sequence.ids) - 1
        for start in range(0, first, width):
            ids = np.array([sequence.ids[start : min(start + width, first)]], np.int64)
            engine.run(_call(engine, ids, start, np.zeros((1, 1), np.int64)), cache)
        for start in range(first, last, width):
            count = min(width, last - start)
            ids = np.zeros((1, width), np.int64)  # past the sequence's end it is padding
            ids[0, :count] = sequence.ids[start : start + count]
            outputs = engine.run(_call(engine, ids, start, every_row), cache)
            if name not in outputs:
                raise RedraftError(
                    f"a '{engine.spec.variant}' graph has no logits over the target vocabulary"
                )
            hidden = outputs.get("hidden")
            next_ids = np.array(sequence.ids[start + 1 : start + count + 1], np.int64)
            yield RowChunk(outputs[name][0, :count], None if hidden is None else hidden[0, :count], next_ids)


def _call(engine: Engine, ids: NDArray[np.int64], start: int, rows: NDArray[np.int64]) -> Call:
    positions = np.minimum(start + np.arange(ids.shape[1])[None], engine.spec.max_positions - 1)
    return Call(ids, positions, np.array([start], np.int64), rows)
