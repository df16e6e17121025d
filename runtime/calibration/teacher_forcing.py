"""Teacher forcing: the logits and hidden states of a model along given text, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import RedraftError, UsageError
from redraft.engines.base import Call, Engine

from .calibration_text import CalibrationText, TextSequence

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

    All calls have one shape of `chunk` tokens and rows, so that memory stays at one buffer of at most 64 MiB of
    logits (chosen so by default) and the cache of the longest sequence.

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
    for sequence in text.sequences:
        for start in range(0, len(sequence.ids) - 1, width):
            call = _call(engine, sequence, start, width, every_row)
            outputs = engine.run(call, cache)
            kept = _kept(sequence, start, width)
            if kept.start < kept.stop:
                logits = outputs.get(_LOGITS.get(engine.spec.variant, ""))
                if logits is None:
                    raise RedraftError(
                        f"a '{engine.spec.variant}' graph has no logits over the target vocabulary"
                    )
                hidden = outputs.get("hidden")
                next_ids = np.array(sequence.ids[start + kept.start + 1 : start + kept.stop + 1], np.int64)
                yield RowChunk(logits[0, kept], None if hidden is None else hidden[0, kept], next_ids)


def _call(
    engine: Engine, sequence: TextSequence, start: int, width: int, every_row: NDArray[np.int64]
) -> Call:
    """A call over positions start .. start + width; past the sequence's end it is padding."""
    padded = np.zeros((1, width), np.int64)
    tokens = sequence.ids[start : start + width]
    padded[0, : len(tokens)] = tokens
    positions = np.minimum(start + every_row, engine.spec.max_positions - 1)
    return Call(padded, positions, np.array([start], np.int64), every_row)


def _kept(sequence: TextSequence, start: int, width: int) -> slice:
    """The rows of a call whose next token is one of the sequence's output."""
    first = len(sequence.prompt_ids) - 1
    last = len(sequence.ids) - 1
    return slice(max(first - start, 0), max(min(last - start, width), 0))
