"""Qwen2 and Qwen2.5: biases on q, k and v; the upper layers may slide."""

from __future__ import annotations

from dataclasses import replace

from redraft.export.config.decoder_config import DecoderConfig, LayerConfig
from redraft.export.config.family import Family, plain_decoder
from redraft.export.config.fields import ConfigFields
from redraft.export.config.layers import layer_configs, layer_types
from redraft.export.config.rope import ropes_by_layer_type

DEFAULTS = {"max_position_embeddings": 32768, "sliding_window": 4096, "max_window_layers": 28}


def qwen_layers(fields: ConfigFields) -> tuple[LayerConfig, ...]:
    """Layers from `max_window_layers` on slide where `use_sliding_window` is set; `layer_types` overrides the
    rule.
    """
    window, first = fields.get("sliding_window"), fields.get("max_window_layers")
    if not fields.boolean("use_sliding_window", False):
        window = None
    num_layers = fields.integer("num_hidden_layers")
    types = layer_types(fields, num_layers, lambda index: window is not None and index >= first)
    return layer_configs(types, window, ropes_by_layer_type(fields))


def describe(fields: ConfigFields) -> DecoderConfig:
    """Always biased on q, k, v; never on o or in the MLP."""
    return replace(plain_decoder(fields, qwen_layers(fields), "qwen2"), qkv_bias=True)


FAMILY = Family("qwen2", ("Qwen2ForCausalLM",), describe, defaults=DEFAULTS)
