"""Hugging Face configs as decoder descriptions: what is read, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.tiny_checkpoints import VARIANTS, tiny_model

from redraft._core.errors import InputFileError, RedraftError, UnsupportedError
from redraft.export.config import DecoderConfig, LayerConfig, RopeConfig, decoder_from_hf, tensor_shapes
from redraft.export.config.harmless_fields import HARMLESS

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 304,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
QWEN3 = {**LLAMA, "model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}
QWEN2 = {**LLAMA, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
MISTRAL = {**LLAMA, "model_type": "mistral", "architectures": ["MistralForCausalLM"]}
GEMMA = {**LLAMA, "model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "num_hidden_layers": 7}


def describe(values: dict[str, Any], **changes: Any) -> DecoderConfig:
    return decoder_from_hf({**values, **changes})[1]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_saved_config_gives_the_tensors_and_layers_of_the_transformers_model(
    variant: str, tiny_folder: Callable[[str], Path]
) -> None:
    family, overrides = VARIANTS[variant]
    model = tiny_model(family, **overrides)
    config = describe(json.loads((tiny_folder(variant) / "config.json").read_text()))
    stored = sum(parameter.numel() for parameter in model.parameters())
    described = 0
    for shape in tensor_shapes(config).values():
        described += shape[0] * (shape[1] if len(shape) == 2 else 1)
    assert described == stored
    attention = model.model.layers[0].self_attn
    assert config.attention_scale == pytest.approx(attention.scaling, rel=1e-12)
    windows = [getattr(layer.self_attn, "sliding_window", None) for layer in model.model.layers]
    if family == "mistral":
        windows = [model.config.sliding_window] * config.num_layers
    assert [layer.window for layer in config.layers] == windows


@pytest.mark.parametrize(
    ("changes", "phrase"),
    [
        ({"model_type": "falcon"}, "model type 'falcon' is not supported"),
        ({"model_type": "qwen3_moe"}, "'qwen3_moe' is a mixture of experts"),
        ({"num_local_experts": 8}, "is a mixture of experts"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantised with AWQ"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantised with GPTQ"),
        ({"quantization_config": {"quant_method": "fp8"}}, "quantised with FP8"),
        ({"auto_map": {"AutoModelForCausalLM": "modeling.X"}}, "'auto_map' asks for"),
        (
            {"architectures": ["LlamaForSequenceClassification"]},
            "architecture 'LlamaForSequenceClassification'",
        ),
        ({"hidden_act": "relu2"}, "'hidden_act' = 'relu2' is not supported"),
        ({"partial_rotary_factor": 0.5}, "'partial_rotary_factor' = 0.5 is not supported"),
        ({"rope_interleaved": True}, "'rope_interleaved' = True is not supported"),
        ({"residual_multiplier": 0.22}, "unknown field 'residual_multiplier' = 0.22"),
        ({"a": 1, "b": 2}, "unknown fields 'a' = 1, 'b' = 2"),
        ({"rope_scaling": {"rope_type": "longrope", "factor": 2.0}}, "rope scaling 'longrope'"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "rope scaling 'dynamic'"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0, "mrope_section": [1]}}, "'mrope_section'"),
        ({"num_key_value_heads": 3}, "4 query heads cannot be shared among 3"),
        ({"head_dim": 15}, "even head size, got 15"),
        ({"num_attention_heads": 5, "num_key_value_heads": 5}, "64 is not a multiple of 5 heads"),
        ({"attention_bias": 1}, "'attention_bias': expected true or false, got 1"),
    ],
)
def test_what_would_change_the_computation_is_refused_by_name(changes: dict[str, Any], phrase: str) -> None:
    with pytest.raises(RedraftError) as caught:
        describe(LLAMA, **changes)
    assert phrase in caught.value.message
    assert isinstance(caught.value, UnsupportedError) or "expected" in phrase


@pytest.mark.parametrize(
    ("changes", "phrase"),
    [
        ({"model_type": None}, "the field 'model_type' is missing"),
        ({"hidden_size": None}, "the field 'hidden_size' is missing"),
        ({"hidden_size": "64"}, "'hidden_size': expected an integer above 0, got '64'"),
        ({"num_hidden_layers": 0}, "'num_hidden_layers': expected an integer above 0, got 0"),
        ({"rms_norm_eps": float("nan")}, "'rms_norm_eps': expected a finite number"),
        ({"rope_scaling": {"rope_type": "linear"}}, "the field 'factor' is missing"),
        ({"rope_scaling": "linear"}, "'rope_scaling': expected an object"),
    ],
)
def test_a_malformed_config_is_one_clear_sentence(changes: dict[str, Any], phrase: str) -> None:
    with pytest.raises(InputFileError) as caught:
        describe(LLAMA, **changes)
    assert phrase in caught.value.message


def test_fields_that_change_nothing_are_accepted() -> None:
    plain = describe(LLAMA)
    assert describe({**dict.fromkeys(HARMLESS - set(LLAMA), "anything"), **LLAMA}) == plain


@pytest.mark.parametrize(
    "parameters",
    [
        {"rope_type": "linear", "factor": 4.0},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 16.0},
        {
            "rope_type": "llama3",
            "factor": 32.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    ],
)
def test_old_and_new_rope_layouts_agree(parameters: dict[str, Any]) -> None:
    new = describe(LLAMA, rope_parameters={**parameters, "rope_theta": 500000.0})
    old = describe(LLAMA, rope_scaling=parameters, rope_theta=500000.0)
    older = {("type" if key == "rope_type" else key): value for key, value in parameters.items()}
    assert new == old == describe(LLAMA, rope_scaling=older, rope_theta=500000.0)
    rope = new.layers[0].rope
    assert (rope.theta, rope.scaling, rope.factor) == (
        500000.0,
        parameters["rope_type"],
        parameters["factor"],
    )


def test_yarn_takes_its_factor_from_the_lengths_where_it_states_none() -> None:
    rope = {"rope_type": "yarn", "factor": None, "original_max_position_embeddings": 64}
    assert describe(LLAMA, rope_scaling=rope, max_position_embeddings=512).layers[0].rope.factor == 8.0


def test_gemma_layouts_of_transformers_4_and_5_agree() -> None:
    old = describe(
        GEMMA,
        rope_theta=1000000.0,
        rope_local_base_freq=10000.0,
        rope_scaling={"factor": 8.0, "rope_type": "linear"},
        sliding_window=512,
        sliding_window_pattern=6,
    )
    full = {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0}
    sliding = {"rope_type": "default", "rope_theta": 10000.0}
    new = describe(
        GEMMA,
        rope_parameters={"full_attention": full, "sliding_attention": sliding},
        layer_types=["sliding_attention"] * 5 + ["full_attention", "sliding_attention"],
        sliding_window=512,
    )
    assert old == new
    assert old.layers[5] == LayerConfig(None, RopeConfig(1000000.0, "linear", factor=8.0))
    assert old.layers[6] == LayerConfig(512, RopeConfig(10000.0))


def test_gemma_multimodal_config_gives_its_text_part_with_the_defaults_filled_in() -> None:
    config = describe(
        {
            "model_type": "gemma3",
            "architectures": ["Gemma3ForConditionalGeneration"],
            "text_config": {
                "model_type": "gemma3_text",
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "num_hidden_layers": 34,
                "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
                "sliding_window": 1024,
            },
            "vision_config": {"model_type": "siglip_vision_model"},
            "boi_token_index": 255999,
            "eoi_token_index": 256000,
            "image_token_index": 262144,
            "mm_tokens_per_image": 256,
            "eos_token_id": [1, 106],
            "initializer_range": 0.02,
        }
    )
    assert (config.head_rows, config.num_heads, config.num_kv_heads, config.head_size) == (262208, 8, 4, 256)
    assert config.tied_head
    assert config.embedding_scale == 2560**0.5
    assert config.attention_scale == 1 / 16
    assert [layer.window for layer in config.layers[:7]] == [1024] * 5 + [None, 1024]
    assert config.layers[5].rope == RopeConfig(1000000.0, "linear", factor=8.0)


def test_gemma_soft_caps_and_query_scale_are_read() -> None:
    config = describe(
        GEMMA, attn_logit_softcapping=50.0, final_logit_softcapping=30.0, query_pre_attn_scalar=168
    )
    assert (config.attention_soft_cap, config.logit_soft_cap) == (50.0, 30.0)
    assert config.attention_scale == 168**-0.5


def test_mistral_without_a_window_differs_from_mistral_that_does_not_say() -> None:
    assert {layer.window for layer in describe(MISTRAL, sliding_window=None).layers} == {None}
    assert {layer.window for layer in describe(MISTRAL).layers} == {4096}
    assert {layer.window for layer in describe(MISTRAL, sliding_window=6).layers} == {6}


@pytest.mark.parametrize("base", [QWEN2, QWEN3])
def test_qwen_windows_need_use_sliding_window_and_start_at_max_window_layers(base: dict[str, Any]) -> None:
    stated = {"sliding_window": 32, "max_window_layers": 1}
    assert [layer.window for layer in describe(base, **stated).layers] == [None, None]
    assert [layer.window for layer in describe(base, use_sliding_window=True, **stated).layers] == [None, 32]


def test_unknown_layer_types_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="layer type 'linear_attention' is not supported"):
        describe(QWEN3, layer_types=["full_attention", "linear_attention"])
    with pytest.raises(InputFileError, match="expected a list of 2 names"):
        describe(QWEN3, layer_types=["full_attention"])


def test_biases_and_norms_follow_the_family() -> None:
    flags = {
        name: (config.qkv_bias, config.output_bias, config.mlp_bias, config.qk_norm)
        for name, config in {
            "llama": describe(LLAMA, attention_bias=True, mlp_bias=True),
            "qwen2": describe(QWEN2),
            "qwen3": describe(QWEN3, attention_bias=True),
            "gemma3": describe(GEMMA),
        }.items()
    }
    assert flags == {
        "llama": (True, True, True, False),
        "qwen2": (True, False, False, False),
        "qwen3": (True, True, False, True),
        "gemma3": (False, False, False, True),
    }


def test_qwen3_has_a_head_size_of_its_own() -> None:
    assert describe(QWEN3).head_size == 128
    assert describe(QWEN2).head_size == 16
