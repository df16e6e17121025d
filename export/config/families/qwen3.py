"""Qwen3 (dense): norms on q and k, a head size of its own, windows as in Qwen2."""

from __future__ import annotations

from dataclasses import replace

from redraft.export.config.decoder_config import DecoderConfig
from redraft.export.config.family import Family, plain_decoder
from redraft.export.config.fields import ConfigFields

from .qwen2 import DEFAULTS, qwen_layers


def describe(fields: ConfigFields) -> DecoderConfig:
    """`attention_bias` puts a bias on q, k, v and o."""
    bias = fields.boolean("attention_bias", False)
    decoder = plain_decoder(fields, qwen_layers(fields), "qwen3")
    return replace(decoder, qk_norm=True, qkv_bias=bias, output_bias=bias)


FAMILY = Family("qwen3", ("Qwen3ForCausalLM",), describe, defaults={**DEFAULTS, "head_dim": 128})
