"""What one engine call costs, by its width, on a warm cache."""

from __future__ import annotations

import statistics
from time import perf_counter

import numpy as np

from redraft.runtime.decoding import CachedModel, Decoder
from redraft.runtime.drafters import EngineDrafter

from .report import Costs

_FILL_TOKEN = 1


def call_costs(decoder: Decoder, *, cache_length: int = 128, repeats: int = 15) -> Costs:
    """Medians over `repeats` rounds in which every width has its turn, so that a slow moment hits all alike.

    No request may be in progress on `decoder`.
    """
    target = decoder.target
    widths = sorted({1, 2, 4, 8, decoder.max_drafts + 1} | set(range(1, decoder.max_drafts + 2)))
    longest = min(target.context, target.capacity) - max(widths)
    length = max(0, min(cache_length, longest))
    drafter = decoder.drafter.model if isinstance(decoder.drafter, EngineDrafter) else None
    times: dict[int, list[float]] = {width: [] for width in widths}
    draft_times: list[float] = []
    for model in (target, drafter):
        if model is not None:
            model.rollback(0)
            if length:
                model.prefill([_FILL_TOKEN] * length)
    for turn in range(repeats + 1):
        for width in widths:
            seconds = _time_call(target, length, width)
            if turn:  # the first turn allocates
                times[width].append(seconds)
        if drafter is not None:
            seconds = _time_call(drafter, length, 1)
            if turn:
                draft_times.append(seconds)
    t_verify = {width: statistics.median(values) * 1e3 for width, values in times.items()}
    t_draft = statistics.median(draft_times) * 1e3 if draft_times else None
    return Costs(
        t_draft_ms=t_draft,
        t_verify_ms={str(width): value for width, value in t_verify.items()},
        cost_ratio=None if t_draft is None else t_draft / t_verify[1],
        cache_length=length,
    )


def predicted_speedup(costs: Costs, mean_drafts: float, tokens_per_round: float) -> float | None:
    """t_verify(1) over the time per token of a mean round; t_verify is interpolated between widths."""
    if costs.t_draft_ms is None or not tokens_per_round:
        return None
    widths = sorted((int(width), value) for width, value in costs.t_verify_ms.items())
    verify = np.interp(mean_drafts + 1, [width for width, _ in widths], [value for _, value in widths])
    per_token = (mean_drafts * costs.t_draft_ms + float(verify)) / tokens_per_round
    return costs.t_verify_ms["1"] / per_token


def _time_call(model: CachedModel, length: int, width: int) -> float:
    model.rollback(length)
    ids = np.full((1, width), _FILL_TOKEN, np.int64)
    rows = np.arange(width)[None]
    start = perf_counter()
    model.forward(ids, rows)
    seconds = perf_counter() - start
    model.rollback(length)
    return seconds
