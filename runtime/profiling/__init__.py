"""Profiling: plain against speculative decoding in one run, and what bounds both."""

from __future__ import annotations

from .bench import BENCH_PROMPTS, BenchSettings, bench
from .report import BenchReport

__all__ = ["BENCH_PROMPTS", "BenchReport", "BenchSettings", "bench"]
