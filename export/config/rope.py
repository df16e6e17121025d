"""Rotary positions from a Hugging Face config: old `rope_scaling` and new `rope_parameters`, flat or per
layer type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redraft._core.errors import UnsupportedError

from .decoder_config import RopeConfig
from .fields import ConfigFields

FULL, SLIDING = "full_attention", "sliding_attention"
LAYER_TYPES = (FULL, SLIDING)
_SCALINGS = ("default", "linear", "llama3", "yarn")


def ropes_by_layer_type(
    fields: ConfigFields, *, full_theta: float = 10000.0, local_theta: float | None = None
) -> dict[str, RopeConfig]:
    """Layer type -> its rotary positions.

    `full_theta` is the family's default base. `local_theta`: the default base of sliding layers where a
    family has one of its own (Gemma 3); a flat scaling then belongs to the full-attention layers alone.
    UnsupportedError names a rule or a parameter that is not known.
    """
    max_positions = fields.integer("max_position_embeddings")
    scaling, parameters = fields.mapping("rope_scaling"), fields.mapping("rope_parameters")
    given = scaling or parameters or {}
    theta = fields.number("rope_theta", full_theta)
    if any(key in LAYER_TYPES for key in given):
        nested = ConfigFields(given, f"{fields.where}: rope parameters")
        by_type = {layer_type: nested.mapping(layer_type) or {} for layer_type in LAYER_TYPES}
        nested.finish()
    else:
        by_type = {FULL: given, SLIDING: given if local_theta is None else {}}
    thetas = {FULL: theta, SLIDING: theta}
    if local_theta is not None:
        thetas[SLIDING] = fields.number("rope_local_base_freq", local_theta)
    return {
        layer_type: _rope(by_type[layer_type], thetas[layer_type], max_positions, fields.where)
        for layer_type in LAYER_TYPES
    }


def _rope(values: Mapping[str, Any], theta: float, max_positions: int, where: str) -> RopeConfig:
    fields = ConfigFields(values, f"{where}: rope parameters")
    kind = fields.get("rope_type") or fields.get("type") or "default"
    fields.get("type")
    if kind not in _SCALINGS:
        raise UnsupportedError(
            f"{where}: rope scaling '{kind}' is not supported (supported: {', '.join(_SCALINGS)})"
        )
    fields.require("partial_rotary_factor", (1, 1.0))
    theta = fields.number("rope_theta", theta)
    rope = _scaled(kind, fields, theta, max_positions)
    fields.ignore(("finetuned",))
    fields.finish()
    return rope


def _scaled(kind: str, fields: ConfigFields, theta: float, max_positions: int) -> RopeConfig:
    if kind == "default":
        fields.ignore(("factor",) if fields.get("factor") in (None, 1, 1.0) else ())
        return RopeConfig(theta)
    if kind == "linear":
        return RopeConfig(theta, "linear", factor=fields.number("factor"))
    original = fields.integer("original_max_position_embeddings", max_positions)
    if kind == "llama3":
        return RopeConfig(
            theta,
            "llama3",
            factor=fields.number("factor"),
            original_max_positions=original,
            low_freq_factor=fields.number("low_freq_factor"),
            high_freq_factor=fields.number("high_freq_factor"),
        )
    return RopeConfig(
        theta,
        "yarn",
        factor=fields.number("factor", max_positions / original),
        original_max_positions=original,
        beta_fast=fields.number("beta_fast", 32.0),
        beta_slow=fields.number("beta_slow", 1.0),
        attention_factor=fields.optional_number("attention_factor"),
        mscale=fields.optional_number("mscale"),
        mscale_all_dim=fields.optional_number("mscale_all_dim"),
        truncate=fields.boolean("truncate", True),
    )
