"""Gemma 3, text part: sandwich norms stored as w - 1, norms on q and k, alternating windows, scaled
embeddings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from redraft._core.errors import InputFileError
from redraft.export.config.decoder_config import DecoderConfig
from redraft.export.config.family import Family, plain_decoder
from redraft.export.config.fields import ConfigFields
from redraft.export.config.harmless_fields import FIXED, HARMLESS
from redraft.export.config.layers import layer_configs, layer_types
from redraft.export.config.rope import ropes_by_layer_type

FULL_THETA, LOCAL_THETA, PATTERN = 1_000_000.0, 10_000.0, 6


def describe(fields: ConfigFields) -> DecoderConfig:
    """Every `sliding_window_pattern`-th layer sees everything, the others a window with rotary positions of
    their own.

    The embedding scale is sqrt(E) in float32, as transformers and llama.cpp compute it when they run in
    float32; a bfloat16 run of transformers rounds it to bfloat16.
    """
    pattern = fields.integer("sliding_window_pattern", fields.integer("_sliding_window_pattern", PATTERN))
    types = layer_types(fields, fields.integer("num_hidden_layers"), lambda index: (index + 1) % pattern != 0)
    ropes = ropes_by_layer_type(fields, full_theta=FULL_THETA, local_theta=LOCAL_THETA)
    layers = layer_configs(types, fields.integer("sliding_window"), ropes)
    bias = fields.boolean("attention_bias", False)
    fields.ignore(("hidden_act",))  # Gemma 3 reads `hidden_activation` alone
    decoder = plain_decoder(fields, layers, "gemma3_text", activation_field="hidden_activation")
    return replace(
        decoder,
        attention_scale=fields.number("query_pre_attn_scalar") ** -0.5,
        qkv_bias=bias,
        output_bias=bias,
        qk_norm=True,
        sandwich_norms=True,
        embedding_scale=decoder.hidden_size**0.5,
        attention_soft_cap=fields.optional_number("attn_logit_softcapping"),
        logit_soft_cap=fields.optional_number("final_logit_softcapping"),
    )


def text_part(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The text model's config inside a multimodal Gemma 3 config; the vision tower is left out."""
    fields = ConfigFields(values, where)
    text = fields.mapping("text_config")
    if text is None:
        raise InputFileError(f"{where}: a 'gemma3' config needs 'text_config'")
    fields.require("architectures", (["Gemma3ForConditionalGeneration"], []))
    tied = fields.boolean("tie_word_embeddings", True)
    fields.ignore(("vision_config", "mm_tokens_per_image", "boi_token_index", "eoi_token_index"))
    fields.ignore(("image_token_index", "boi_token_id", "eoi_token_id", "image_token_id"))
    fields.ignore((*HARMLESS, *FIXED))
    fields.finish()
    return {"tie_word_embeddings": tied, **{key: text[key] for key in text if key != "architectures"}}


FAMILY = Family(
    "gemma3_text",
    ("Gemma3ForCausalLM",),
    describe,
    defaults={
        "vocab_size": 262_208,
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_hidden_layers": 26,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh",
        "max_position_embeddings": 131_072,
        "query_pre_attn_scalar": 256,
        "sliding_window": 4096,
        "tie_word_embeddings": True,
    },
    norm_offset=1.0,
)
