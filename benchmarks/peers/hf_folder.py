"""A Hugging Face folder with a checkpoint's (dequantised) tensors: what the peers' own builders read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from redraft._core.atomic import atomic_folder
from redraft._core.errors import UnsupportedError
from redraft.export.checkpoint.base import Checkpoint
from redraft.export.checkpoint.hf_names import hf_name
from redraft.export.config import DecoderConfig


def write_hf_folder(checkpoint: Checkpoint, folder: Path) -> Path:
    """config.json, model.safetensors (float32) and the tokenizer; kept where it is there already."""
    if (folder / "config.json").is_file():
        return folder
    from safetensors.numpy import save_file

    config = checkpoint.config
    with atomic_folder(folder) as temporary:
        checkpoint.write_tokenizer(temporary)
        tensors: dict[str, np.ndarray] = {}
        for name in checkpoint.names():
            tensor = checkpoint.load(name)
            if config.sandwich_norms and "norm" in name:
                tensor = tensor - 1  # Gemma stores w and multiplies by 1 + w
            tensors[hf_name(name, config)] = tensor
        save_file(tensors, temporary / "model.safetensors", {"format": "pt"})
        hf_config(config).save_pretrained(temporary)
    return folder


def hf_config(config: DecoderConfig) -> Any:
    """The transformers configuration of a Llama without rope scaling, or of Gemma 3; UnsupportedError for
    others.
    """
    sizes = {
        "vocab_size": config.head_rows,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_size,
        "rms_norm_eps": config.norm_eps,
        "max_position_embeddings": config.max_positions,
        "tie_word_embeddings": config.tied_head,
        "dtype": "float32",
    }
    if any(layer.rope.scaling != "none" for layer in config.layers):
        raise UnsupportedError("the benchmark writes no Hugging Face folder for models with rope scaling")
    if config.family == "llama":
        from transformers import LlamaConfig

        rope = {"rope_type": "default", "rope_theta": config.layers[0].rope.theta}
        return LlamaConfig(**sizes, rope_parameters=rope, architectures=["LlamaForCausalLM"])
    if config.family == "gemma3_text":
        from transformers import Gemma3TextConfig

        kinds = ["full_attention" if layer.window is None else "sliding_attention" for layer in config.layers]
        thetas = {kind: layer.rope.theta for kind, layer in zip(kinds, config.layers, strict=True)}
        return Gemma3TextConfig(
            **sizes,
            query_pre_attn_scalar=round(config.attention_scale**-2),
            sliding_window=next(layer.window for layer in config.layers if layer.window),
            layer_types=kinds,
            rope_parameters={
                kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()
            },
            architectures=["Gemma3ForCausalLM"],
        )
    raise UnsupportedError(f"the benchmark writes no Hugging Face folder for the family '{config.family}'")
