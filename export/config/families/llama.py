"""Llama 2 and 3.x, SmolLM2: full attention, optional biases."""

from __future__ import annotations

from dataclasses import replace

from redraft.export.config.decoder_config import DecoderConfig
from redraft.export.config.family import Family, plain_decoder
from redraft.export.config.fields import ConfigFields
from redraft.export.config.layers import layer_configs
from redraft.export.config.rope import FULL, ropes_by_layer_type


def describe(fields: ConfigFields) -> DecoderConfig:
    """`attention_bias` puts a bias on q, k, v and o, `mlp_bias` on gate, up and down."""
    types = [FULL] * fields.integer("num_hidden_layers")
    bias = fields.boolean("attention_bias", False)
    return replace(
        plain_decoder(fields, layer_configs(types, None, ropes_by_layer_type(fields)), "llama"),
        qkv_bias=bias,
        output_bias=bias,
        mlp_bias=fields.boolean("mlp_bias", False),
    )


FAMILY = Family("llama", ("LlamaForCausalLM",), describe, defaults={"max_position_embeddings": 2048})
