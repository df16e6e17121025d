"""Tables of rotary positions, in float64: plain, linear, llama3 and yarn.

Sources: RoFormer (arXiv 2104.09864), position interpolation (2306.15595), YaRN (2309.00071), and the llama3
rule as published with the Llama 3.1 weights. All angles are in radians.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import UnsupportedError
from redraft.export.config import RopeConfig


def rope_tables(
    rope: RopeConfig, head_size: int, num_positions: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """cos and sin, each [num_positions, Hd / 2] float32, computed in float64 and rounded once.

    YaRN's attention factor multiplies both.
    """
    angles = np.arange(num_positions, dtype=np.float64)[:, None] * inverse_frequencies(rope, head_size)[None]
    factor = attention_factor(rope)
    return (factor * np.cos(angles)).astype(np.float32), (factor * np.sin(angles)).astype(np.float32)


def inverse_frequencies(rope: RopeConfig, head_size: int) -> NDArray[np.float64]:
    """[Hd / 2] float64: angle per position of every pair. UnsupportedError for an unknown rule."""
    plain = rope.theta ** (-np.arange(0, head_size, 2, dtype=np.float64) / head_size)
    if rope.scaling == "none":
        return plain
    if rope.scaling == "linear":
        return plain / rope.factor
    if rope.scaling == "llama3":
        return _llama3(rope, plain)
    if rope.scaling == "yarn":
        return _yarn(rope, plain, head_size)
    raise UnsupportedError(f"rope scaling '{rope.scaling}' is not supported (none, linear, llama3, yarn are)")


def attention_factor(rope: RopeConfig) -> float:
    """What YaRN multiplies cos and sin with; 1 for the other rules."""
    if rope.scaling != "yarn":
        return 1.0
    if rope.attention_factor is not None:
        return rope.attention_factor
    if rope.mscale and rope.mscale_all_dim:
        return _magnitude(rope.factor, rope.mscale) / _magnitude(rope.factor, rope.mscale_all_dim)
    return _magnitude(rope.factor, 1.0)


def _magnitude(factor: float, mscale: float) -> float:
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0


def _llama3(rope: RopeConfig, plain: NDArray[np.float64]) -> NDArray[np.float64]:
    """Low frequencies are divided by `factor`, high ones kept, those between are mixed."""
    assert rope.original_max_positions is not None
    turns = rope.original_max_positions * plain / (2 * math.pi)
    smooth = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor)
    smooth = np.clip(smooth, 0.0, 1.0)
    return (1 - smooth) * plain / rope.factor + smooth * plain


def _yarn(rope: RopeConfig, plain: NDArray[np.float64], head_size: int) -> NDArray[np.float64]:
    """Pairs that turn less than `beta_slow` times are divided by `factor`, over `beta_fast` times kept."""
    original = rope.original_max_positions
    assert original is not None

    def pair_of_turns(turns: float) -> float:
        return head_size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(rope.theta))

    low, high = pair_of_turns(rope.beta_fast), pair_of_turns(rope.beta_slow)
    if rope.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_size - 1)
    if low == high:
        high += 0.001
    ramp = np.clip((np.arange(len(plain)) - low) / (high - low), 0.0, 1.0)
    mixed: NDArray[np.float64] = plain / rope.factor * ramp + plain * (1 - ramp)
    return mixed
