"""Medians, spreads and intervals over prompts and repeats."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

import numpy as np

from .report import Speed, Spread
from .timed_request import TimedRequest

_RESAMPLES = 2000


def median(values: Iterable[float]) -> float:
    """The median."""
    return float(statistics.median(values))


def speed(runs: Sequence[Sequence[TimedRequest]]) -> Speed:
    """Of one way of decoding: `runs[prompt][repeat]`."""
    rates = [median(run.tokens_per_second for run in repeats) for repeats in runs]
    stages: dict[str, float] = {}
    for repeats in runs:
        for run in repeats:
            for stage, seconds in run.stats.seconds.items():
                stages[stage] = stages.get(stage, 0.0) + seconds
    return Speed(
        tokens_per_second=median(rates),
        tokens_per_second_e2e=median(median(run.tokens_per_second_e2e for run in r) for r in runs),
        ttft_ms=median(median(run.ttft for run in repeats) for repeats in runs) * 1e3,
        tpot_ms=median(median(run.tpot for run in repeats) for repeats in runs) * 1e3,
        spread=spread(rates),
        stages=stages,
    )


def spread(values: Sequence[float]) -> Spread:
    """Median, mean, standard deviation (0 for one value) and range."""
    return Spread(
        median=median(values),
        mean=statistics.fmean(values),
        std=statistics.stdev(values) if len(values) > 1 else 0.0,
        min=min(values),
        max=max(values),
    )


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the median: prompts drawn with replacement, a fixed seed."""
    array = np.asarray(values, np.float64)
    draws = np.random.default_rng(0).integers(0, array.size, (_RESAMPLES, array.size))
    low, high = np.quantile(np.median(array[draws], axis=1), [0.025, 0.975])
    return float(low), float(high)
