"""Mistral: Llama with one sliding window for all layers, or none."""

from __future__ import annotations

from redraft.export.config.decoder_config import DecoderConfig
from redraft.export.config.family import Family, plain_decoder
from redraft.export.config.fields import ConfigFields
from redraft.export.config.layers import layer_configs
from redraft.export.config.rope import FULL, SLIDING, ropes_by_layer_type


def describe(fields: ConfigFields) -> DecoderConfig:
    """`sliding_window`: null is full attention; absent is 4096, as in transformers."""
    window = None if fields.get("sliding_window") is None else fields.integer("sliding_window")
    types = [FULL if window is None else SLIDING] * fields.integer("num_hidden_layers")
    fields.require("layer_types", (types,))
    return plain_decoder(fields, layer_configs(types, window, ropes_by_layer_type(fields)), "mistral")


FAMILY = Family(
    "mistral",
    ("MistralForCausalLM",),
    describe,
    defaults={"max_position_embeddings": 131072, "sliding_window": 4096, "num_key_value_heads": 8},
)
