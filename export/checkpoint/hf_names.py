"""Tensor names of Hugging Face checkpoints, and which of their tensors are left out."""

from __future__ import annotations

import re

from redraft.export.config import DecoderConfig

_LINEARS = {
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "o": "self_attn.o_proj",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
_PLAIN_NORMS = {"attention_norm": "input_layernorm", "mlp_norm": "post_attention_layernorm"}
_SANDWICH_NORMS = {
    "attention_norm": "input_layernorm",
    "post_attention_norm": "post_attention_layernorm",
    "mlp_norm": "pre_feedforward_layernorm",
    "post_mlp_norm": "post_feedforward_layernorm",
}
_TOP = {
    "embed.weight": "model.embed_tokens.weight",
    "final_norm.weight": "model.norm.weight",
    "head.weight": "lm_head.weight",
}

_LEFT_OUT = re.compile(
    r"(^|\.)(vision_tower|vision_model|multi_modal_projector|embed_vision)\."  # the text part stands alone
    r"|\.rotary_emb\.inv_freq$"  # follows from the config
    r"|\.self_attn\.masked_bias$"
)


def hf_name(name: str, config: DecoderConfig) -> str:
    """`layers.3.q.weight` -> `model.layers.3.self_attn.q_proj.weight`."""
    if name in _TOP:
        return _TOP[name]
    _, index, part, kind = name.split(".")
    norms = _SANDWICH_NORMS if config.sandwich_norms else _PLAIN_NORMS
    module = _LINEARS.get(part) or norms.get(part) or f"self_attn.{part}"
    return f"model.layers.{index}.{module}.{kind}"


def plain_hf_name(stored: str) -> str:
    """The stored name without what a multimodal wrapper puts around it."""
    if stored.startswith("model.language_model."):  # transformers 5
        return "model." + stored.removeprefix("model.language_model.")
    if stored.startswith("language_model."):  # transformers 4
        return stored.removeprefix("language_model.")
    return stored


def is_left_out(stored: str, config: DecoderConfig) -> bool:
    """True for tensors that do not take part in the text model's logits."""
    tied_copy = config.tied_head and plain_hf_name(stored) == "lm_head.weight"
    return tied_copy or _LEFT_OUT.search(stored) is not None
