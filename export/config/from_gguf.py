"""A GGUF file's metadata as a DecoderConfig."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError, UnsupportedError

from .decoder_config import Activation, DecoderConfig, RopeConfig
from .families.gemma3 import FULL_THETA, LOCAL_THETA, PATTERN
from .fields import ConfigFields
from .layers import layer_configs
from .rope import FULL, SLIDING

_HARMLESS = (
    *("vocab_size", "rope.dimension_count_swa", "rope.scaling.finetuned", "tensor_data_layout"),
    *("attention.causal", "rope.dimension_sections"),
)


@dataclass(frozen=True, slots=True)
class GgufTensors:
    """What the description needs to know of the file's tensors."""

    names: frozenset[str]
    head_rows: int  # rows of token_embd.weight
    rope_freqs: NDArray[np.float32] | None  # [Hd / 2] divisors of the frequencies


def decoder_from_gguf(metadata: Mapping[str, Any], tensors: GgufTensors, where: str) -> DecoderConfig:
    """The description of a file of architecture llama (Mistral and SmolLM2 too), qwen2, qwen3 or gemma3.

    UnsupportedError names an architecture, a field or a value that is not supported.
    """
    architecture = metadata.get("general.architecture")
    builders = {"llama": _llama, "qwen2": _qwen2, "qwen3": _qwen3, "gemma3": _gemma3}
    if architecture not in builders:
        raise UnsupportedError(
            f"{where}: architecture '{architecture}' is not supported (supported: {', '.join(builders)})",
            hint="docs/model-families.md says how to add a family",
        )
    prefix = f"{architecture}."
    own = {key.removeprefix(prefix): value for key, value in metadata.items() if key.startswith(prefix)}
    fields = ConfigFields(own, f"{where}: {architecture}")
    if fields.get("expert_count"):
        raise UnsupportedError(f"{where}: mixtures of experts are not supported", hint="choose a dense model")
    fields.ignore(("expert_used_count",))
    config = builders[architecture](fields, tensors)
    fields.ignore(_HARMLESS)
    fields.finish()
    return config


def _llama(fields: ConfigFields, tensors: GgufTensors) -> DecoderConfig:
    window = fields.get("attention.sliding_window")
    kind = SLIDING if window else FULL
    rope = _rope(fields, tensors)
    types = [kind] * fields.integer("block_count")
    return replace(
        _plain(fields, tensors, "llama", "silu"), layers=layer_configs(types, window or None, {kind: rope})
    )


def _qwen2(fields: ConfigFields, tensors: GgufTensors) -> DecoderConfig:
    return _full_attention(fields, tensors, "qwen2")


def _qwen3(fields: ConfigFields, tensors: GgufTensors) -> DecoderConfig:
    return replace(_full_attention(fields, tensors, "qwen3"), qk_norm=True)


def _full_attention(fields: ConfigFields, tensors: GgufTensors, family: str) -> DecoderConfig:
    fields.require("attention.sliding_window", (0,))  # the file does not say which layers would slide
    types = [FULL] * fields.integer("block_count")
    layers = layer_configs(types, None, {FULL: _rope(fields, tensors)})
    return replace(_plain(fields, tensors, family, "silu"), layers=layers)


def _gemma3(fields: ConfigFields, tensors: GgufTensors) -> DecoderConfig:
    config = _plain(fields, tensors, "gemma3_text", "gelu_tanh")
    num_layers = fields.integer("block_count")
    pattern = fields.integer("attention.sliding_window_pattern", PATTERN)
    types = [SLIDING if (index + 1) % pattern else FULL for index in range(num_layers)]
    ropes = {
        FULL: _rope(fields, tensors, FULL_THETA),
        SLIDING: RopeConfig(fields.number("rope.freq_base_swa", LOCAL_THETA)),
    }
    # llama.cpp's rule: the 62-layer model alone scales by E / H, the others by the head size
    scalar = config.hidden_size / config.num_heads if num_layers == 62 else config.head_size
    return replace(
        config,
        layers=layer_configs(types, fields.integer("attention.sliding_window"), ropes),
        attention_scale=scalar**-0.5,
        qk_norm=True,
        sandwich_norms=True,
        embedding_scale=config.hidden_size**0.5,
        attention_soft_cap=fields.optional_number("attn_logit_softcapping"),
        logit_soft_cap=fields.optional_number("final_logit_softcapping"),
    )


def _plain(fields: ConfigFields, tensors: GgufTensors, family: str, activation: Activation) -> DecoderConfig:
    """All but the layers, from the keys that every architecture has; biases and tying from the tensors."""
    hidden_size, num_heads = fields.integer("embedding_length"), fields.integer("attention.head_count")
    head_size = fields.integer("attention.key_length", hidden_size // num_heads)
    fields.require("attention.value_length", (head_size,))
    fields.require("rope.dimension_count", (head_size,))
    return DecoderConfig(
        family=family,
        head_rows=tensors.head_rows,
        hidden_size=hidden_size,
        num_heads=num_heads,
        num_kv_heads=fields.integer("attention.head_count_kv", num_heads),
        head_size=head_size,
        intermediate_size=fields.integer("feed_forward_length"),
        layers=(),
        norm_eps=fields.number("attention.layer_norm_rms_epsilon"),
        activation=activation,
        attention_scale=head_size**-0.5,
        max_positions=fields.integer("context_length"),
        tied_head="output.weight" not in tensors.names,
        qkv_bias="blk.0.attn_q.bias" in tensors.names,
        output_bias="blk.0.attn_output.bias" in tensors.names,
        mlp_bias="blk.0.ffn_gate.bias" in tensors.names,
    )


def _rope(fields: ConfigFields, tensors: GgufTensors, theta: float = 10000.0) -> RopeConfig:
    theta = fields.number("rope.freq_base", theta)
    factor = (
        fields.optional_number("rope.scaling.factor") or fields.optional_number("rope.scale_linear") or 1.0
    )
    kind = fields.get("rope.scaling.type") or ("none" if factor == 1.0 else "linear")
    original = fields.get("rope.scaling.original_context_length")
    attention_factor = fields.optional_number("rope.scaling.attn_factor")
    fast = fields.number("rope.scaling.yarn_beta_fast", 32.0)
    slow = fields.number("rope.scaling.yarn_beta_slow", 1.0)
    if tensors.rope_freqs is not None:
        if kind != "none":
            raise UnsupportedError(
                f"{fields.where}: rope scaling '{kind}' together with rope_freqs is not supported"
            )
        return _llama3_rope(theta, tensors.rope_freqs, fields.where)
    if kind == "none":
        return RopeConfig(theta)
    if kind == "linear":
        return RopeConfig(theta, "linear", factor=factor)
    if kind != "yarn" or attention_factor not in (None, 1.0):
        what = f"'{kind}'" if kind != "yarn" else f"'yarn' with attn_factor {attention_factor}"
        raise UnsupportedError(f"{fields.where}: rope scaling {what} is not supported")
    positions = original or fields.integer("context_length")
    return RopeConfig(
        theta, "yarn", factor=factor, original_max_positions=positions, beta_fast=fast, beta_slow=slow
    )


def _llama3_rope(theta: float, divisors: NDArray[np.float32], where: str) -> RopeConfig:
    """Llama 3's scaling, which a GGUF file stores as the divisors that follow from it, not by its parameters.

    The parameters are those of every published Llama 3.x (bands 1 and 4 of 8192 positions) with the file's
    factor; a file with other divisors is refused.
    """
    rope = RopeConfig(
        theta,
        "llama3",
        factor=round(float(divisors.max()), 4),
        original_max_positions=8192,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
    )
    if not np.allclose(divisors, llama3_divisors(rope, 2 * len(divisors)), rtol=1e-4):
        raise UnsupportedError(
            f"{where}: rope_freqs.weight does not hold Llama 3's scaling of 8192 positions",
            hint="use the Hugging Face folder of this model, whose config states the scaling",
        )
    return rope


def llama3_divisors(rope: RopeConfig, head_size: int) -> NDArray[np.float64]:
    """What Llama 3's scaling divides each of the Hd / 2 rotary frequencies by."""
    if rope.original_max_positions is None:
        raise InputFileError("rope scaling 'llama3' needs the original number of positions")
    frequencies = rope.theta ** (-np.arange(0, head_size, 2, dtype=np.float64) / head_size)
    turns = rope.original_max_positions * frequencies / (2 * np.pi)
    band = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor)
    smooth = np.clip(band, 0.0, 1.0)
    return 1.0 / ((1.0 - smooth) / rope.factor + smooth)
