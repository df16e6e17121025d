"""Tiny random checkpoints of every family, saved by transformers (which is also the oracle).

Norms and biases are random too: Hugging Face starts them at one and zero, where a wrong use of them would not
show.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.tiny_tokenizer import write_tiny_tokenizer

ROWS = 304
"""T of the tiny models: more than the tokenizer's 290 tokens, so that there are padding rows."""

_BASE: dict[str, Any] = {
    "vocab_size": ROWS,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "initializer_range": 0.15,
}
_LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
_YARN_ROPE = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 64,
}
_GEMMA_ROPE = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
    "full_attention": {"rope_type": "linear", "rope_theta": 1000000.0, "factor": 8.0},
}

FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "mistral": {"sliding_window": 6},
    "qwen2": {"tie_word_embeddings": True},
    "qwen3": {"head_dim": 32},
    "gemma3_text": {
        "num_hidden_layers": 3,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        "sliding_window": 6,
        "query_pre_attn_scalar": 24,
        "rope_parameters": _GEMMA_ROPE,
        "tie_word_embeddings": True,
    },
}
"""Family -> what its tiny config adds to the shared dimensions."""

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{family: (family, {}) for family in FAMILIES},
    "llama-tied": ("llama", {"tie_word_embeddings": True}),
    "llama-biased": ("llama", {"attention_bias": True, "mlp_bias": True}),
    "llama-linear": (
        "llama",
        {"rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}},
    ),
    "llama3": ("llama", {"rope_parameters": _LLAMA3_ROPE}),
    "llama-yarn": ("llama", {"rope_parameters": _YARN_ROPE}),
    "qwen2-sliding": (
        "qwen2",
        {
            "num_hidden_layers": 3,
            "use_sliding_window": True,
            "sliding_window": 6,
            "max_window_layers": 1,
            "layer_types": ["full_attention", "sliding_attention", "sliding_attention"],
        },
    ),
    "qwen3-yarn": ("qwen3", {"rope_parameters": _YARN_ROPE, "attention_bias": True}),
    "gemma3-capped": ("gemma3_text", {"attn_logit_softcapping": 20.0, "final_logit_softcapping": 5.0}),
}
"""Variant -> (family, overrides): every feature of a config that the exporter claims, at least once."""


def tiny_model(family: str, *, seed: int = 0, **overrides: Any) -> Any:
    """A random transformers model (float32, eval, eager attention); `overrides` change its config."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(family, **{**_BASE, **FAMILIES[family], **overrides})
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1:
                centre = 0.0 if name.endswith("bias") or family.startswith("gemma") else 1.0
                parameter.copy_(centre + 0.2 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


def tiny_hf_folder(
    family: str,
    folder: Path,
    *,
    seed: int = 0,
    dtype: str = "float32",
    max_shard_size: str | int = "1GB",
    **overrides: Any,
) -> Path:
    """Save a tiny model of `family` with its tokenizer into `folder` and return it.

    `overrides` change the config. `dtype` is the stored number format (float32, float16, bfloat16); a small
    `max_shard_size` makes a sharded checkpoint.
    """
    import torch

    model = tiny_model(family, seed=seed, **overrides).to(getattr(torch, dtype))
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder, max_shard_size=max_shard_size)
    write_tiny_tokenizer(folder)
    return folder


def tiny_variant(variant: str, folder: Path, **overrides: Any) -> Path:
    """`tiny_hf_folder` of one of VARIANTS."""
    family, settings = VARIANTS[variant]
    return tiny_hf_folder(family, folder, **{**settings, **overrides})
