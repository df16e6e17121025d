"""Bars: the speed ratios that redraft sets itself, and whether a measurement reaches them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bar:
    """`faster` is at least `ratio` times as fast as `slower`, both measured in one run."""

    faster: str
    slower: str
    ratio: float


BARS = (
    Bar("redraft fp32", "onnxruntime-genai fp32", 1.4),
    Bar("redraft int4", "onnxruntime-genai int4", 1.4),
)
"""Against peers."""
SPECULATIVE_BARS = {"smollm2-135m": 1.35, "gemma3-270m": 1.8}
"""Bundle -> speculative over plain decoding of the same target, greedy."""
MAX_OVERHEAD = 0.10
"""Share of a greedy or plain-temperature round outside the engines."""
MAX_MEMORY = 1.15
"""Peak memory of `generate` over weights and caches."""


def describe_bars(bars: Sequence[Bar], rates: Mapping[str, float]) -> list[dict[str, Any]]:
    """For each bar whose two sides were measured: the ratio, whether it is met, and a sentence."""
    found = []
    for bar in bars:
        if bar.faster in rates and bar.slower in rates:
            found.append(
                describe(f"{bar.faster} / {bar.slower}", rates[bar.faster] / rates[bar.slower], bar.ratio)
            )
    return found


def describe(name: str, value: float, bar: float, *, at_most: bool = False) -> dict[str, Any]:
    """One measured figure against its bar."""
    met = value <= bar if at_most else value >= bar
    wanted = f"at {'most' if at_most else 'least'} {bar:g}"
    sentence = f"{name}: {value:.3g}, {wanted}: {'met' if met else f'missed by {abs(value / bar - 1):.0%}'}"
    return {"name": name, "value": value, "bar": bar, "at_most": at_most, "met": met, "sentence": sentence}
