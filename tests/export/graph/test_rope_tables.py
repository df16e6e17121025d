"""Rotary tables against transformers' rules and the definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from redraft._core.errors import UnsupportedError
from redraft.export.config import RopeConfig
from redraft.export.graph.parts.rope_tables import attention_factor, inverse_frequencies, rope_tables

HEAD_SIZE = 64
RULES: dict[str, tuple[RopeConfig, dict[str, Any]]] = {
    "linear": (RopeConfig(1e4, "linear", 4.0), {"rope_type": "linear", "factor": 4.0}),
    "llama3": (
        RopeConfig(5e5, "llama3", 8.0, 8192),
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    ),
    "yarn": (
        RopeConfig(1e6, "yarn", 4.0, 32768),
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    ),
    "yarn-magnitudes": (
        RopeConfig(1e4, "yarn", 40.0, 4096, mscale=0.7, mscale_all_dim=1.0, truncate=False),
        {
            "rope_type": "yarn",
            "factor": 40.0,
            "original_max_position_embeddings": 4096,
            "mscale": 0.7,
            "mscale_all_dim": 1.0,
            "truncate": False,
        },
    ),
    "yarn-given-factor": (
        RopeConfig(1e4, "yarn", 2.0, 64, beta_fast=16.0, beta_slow=2.0, attention_factor=1.25),
        {
            "rope_type": "yarn",
            "factor": 2.0,
            "original_max_position_embeddings": 64,
            "beta_fast": 16.0,
            "beta_slow": 2.0,
            "attention_factor": 1.25,
        },
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_frequencies_and_factor_equal_transformers(rule: str) -> None:
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    rope, parameters = RULES[rule]
    config = LlamaConfig(
        head_dim=HEAD_SIZE,
        max_position_embeddings=131072,
        rope_parameters={**parameters, "rope_theta": rope.theta},
    )
    expected, factor = ROPE_INIT_FUNCTIONS[rope.scaling](config, device="cpu")
    np.testing.assert_allclose(inverse_frequencies(rope, HEAD_SIZE), expected.numpy(), rtol=2e-6)
    assert attention_factor(rope) == pytest.approx(factor, rel=1e-12)


def test_far_positions_are_as_exact_as_near_ones() -> None:
    cos, sin = rope_tables(RopeConfig(1e4), HEAD_SIZE, 100_001)
    angle = np.float64(100_000) * 1e4 ** (-2.0 / HEAD_SIZE)
    assert cos[100_000, 1] == np.float32(np.cos(angle))
    assert sin[100_000, 1] == np.float32(np.sin(angle))


def test_unknown_rule_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="'dynamic'"):
        inverse_frequencies(RopeConfig(1e4, "dynamic"), HEAD_SIZE)  # type: ignore[arg-type]
