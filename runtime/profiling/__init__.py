"""Profiling: plain against speculative decoding in one run, and what bounds both."""

from __future__ import annotations

from .bench import BenchSettings, bench
from .prompts import BENCH_PROMPTS, encode_prompt
from .report import BenchReport

__all__ = ["BENCH_PROMPTS", "BenchReport", "BenchSettings", "bench", "encode_prompt"]
