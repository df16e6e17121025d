"""The statistics pass: both models along the calibration text, into the accumulators of `rdk.statistics`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import RedraftError, UsageError
from redraft.engines.base import Engine
from redraft.rdk.statistics import CalibrationStatistics

from .calibration_text import CalibrationText
from .teacher_forcing import teacher_forced

Progress = Callable[[int, int], None]
"""Called with (positions done, positions in all) after each chunk."""
DEFAULT_SAMPLE = 512


def collect_statistics(
    target: Engine,
    text: CalibrationText,
    *,
    drafter: Engine | None = None,
    num_tokens: int | None = None,
    sample: int = DEFAULT_SAMPLE,
    seed: int = 0,
    progress: Progress | None = None,
) -> CalibrationStatistics:
    """Moments and a sample of the target's probability rows, and moments of the drafter's hidden states.

    One teacher-forced pass of each engine over every position whose next token the target wrote. Memory stays
    at a chunk of rows and the accumulators, whatever the vocabulary.

    Args:
        drafter: any engine of the drafter's body whose graph gives `hidden`; None: the target's own hidden
            states.
        num_tokens: tokens of the tokenizer; rows from there on are padding and get probability 0.
        sample: rows kept for the covariance.

    Raises:
        UsageError: there is no text.
        RedraftError: the engine's graph has no `hidden` output.
    """
    total = text.num_tokens
    if total == 0:
        raise UsageError("the statistics pass has no text", hint="calibrate on more tokens")
    hidden_source = target if drafter is None else drafter
    if hidden_source.spec.output("hidden") is None:
        raise RedraftError(
            f"the {hidden_source.spec.role}'s graph has no output 'hidden'",
            hint='export it with outputs=("hidden",)',
        )
    rows, hidden_size = target.spec.sizes["T"], hidden_source.spec.sizes["E"]
    statistics = CalibrationStatistics.empty(rows, hidden_size, capacity=sample, seed=seed)
    done, passes = 0, 1 if drafter is None else 2
    for chunk in teacher_forced(target, text):
        statistics.add_rows(probability_rows(chunk.logits, num_tokens))
        if drafter is None and chunk.hidden is not None:
            statistics.add_hidden(chunk.hidden)
        done += len(chunk.next_ids)
        if progress is not None:
            progress(done, total * passes)
    if drafter is not None:
        for chunk in teacher_forced(drafter, text):
            assert chunk.hidden is not None
            statistics.add_hidden(chunk.hidden)
            done += len(chunk.next_ids)
            if progress is not None:
                progress(done, total * passes)
    return statistics


def probability_rows(logits: NDArray[np.float32], num_tokens: int | None = None) -> NDArray[np.float32]:
    """Softmax of `logits` [n, T] over the first `num_tokens` ids, 0 from there on: [n, T] float32."""
    size = logits.shape[1] if num_tokens is None else min(num_tokens, logits.shape[1])
    rows = np.zeros_like(logits)
    alive = rows[:, :size]
    np.subtract(logits[:, :size], logits[:, :size].max(axis=1, keepdims=True), out=alive)
    np.exp(alive, out=alive)
    alive /= alive.sum(axis=1, dtype=np.float64, keepdims=True).astype(np.float32)
    return rows
