"""Rotary frequencies of every scaling rule, written from the definitions and independent of the exporter."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from redraft.export.config.decoder_config import RopeConfig


def rotary_tables(
    rope: RopeConfig, head_size: int, max_positions: int, positions: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cosine and sine, each [S, Hd / 2] float64, for absolute `positions` [S]."""
    frequency, amplitude = _frequencies(rope, head_size, max_positions)
    angle = positions[:, None].astype(np.float64) * frequency[None, :]
    return np.cos(angle) * amplitude, np.sin(angle) * amplitude


def rotate(
    x: NDArray[np.floating], cosine: NDArray[np.float64], sine: NDArray[np.float64]
) -> NDArray[np.floating]:
    """`x` [heads, S, Hd] turned by half-split rotary positions: pairs are (j, j + Hd / 2)."""
    first, second = np.split(x, 2, axis=-1)
    c, s = cosine.astype(x.dtype), sine.astype(x.dtype)
    return np.concatenate([first * c - second * s, second * c + first * s], axis=-1)


def _frequencies(rope: RopeConfig, head_size: int, max_positions: int) -> tuple[NDArray[np.float64], float]:
    base = rope.theta ** (-np.arange(0, head_size, 2, dtype=np.float64) / head_size)
    if rope.scaling == "linear":
        return base / rope.factor, 1.0
    original = rope.original_max_positions or max_positions
    if rope.scaling == "llama3":
        return _llama3(rope, base, original), 1.0
    if rope.scaling == "yarn":
        return _yarn(rope, base, head_size, original)
    return base, 1.0


def _llama3(rope: RopeConfig, base: NDArray[np.float64], original: int) -> NDArray[np.float64]:
    # Fast turns stay, slow turns are slowed by `factor`, a linear blend between the two wavelengths.
    turns = original * base / (2 * math.pi)
    blend = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor)
    blend = np.clip(blend, 0.0, 1.0)
    return blend * base + (1 - blend) * base / rope.factor


def _yarn(
    rope: RopeConfig, base: NDArray[np.float64], head_size: int, original: int
) -> tuple[NDArray[np.float64], float]:
    # Peng et al., "YaRN", section 3.2: a ramp over the dimensions between two numbers of turns.
    def dimension(turns: float) -> float:
        return head_size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(rope.theta))

    low, high = dimension(rope.beta_fast), dimension(rope.beta_slow)
    if rope.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_size - 1)
    span = max(high - low, 0.001)
    ramp = np.clip((np.arange(head_size // 2) - low) / span, 0.0, 1.0)
    return base * (1 - ramp) + base / rope.factor * ramp, _yarn_amplitude(rope)


def _yarn_amplitude(rope: RopeConfig) -> float:
    def mscale(weight: float) -> float:
        return 0.1 * weight * math.log(rope.factor) + 1.0 if rope.factor > 1 else 1.0

    if rope.attention_factor is not None:
        return rope.attention_factor
    if rope.mscale and rope.mscale_all_dim:
        return mscale(rope.mscale) / mscale(rope.mscale_all_dim)
    return mscale(1.0)
