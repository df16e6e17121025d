"""Tiny GGUF files: a Hugging Face folder written as llama.cpp's converter would, by the gguf package's
writer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.support.tiny_tokenizer import CHAT_TEMPLATE, MERGES, SPECIAL_TOKENS, tiny_vocabulary

_ARCHITECTURES = {
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "gemma3_text": "gemma3",
}
_PARTS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
_TOP = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}


def tiny_gguf(folder: Path, path: Path, **options: Any) -> Path:
    """Write the checkpoint in `folder` to `path`.

    Options: `quantize` (stored matrix type by tensor name), `extra` (further metadata), `tensors` (further
    tensors).
    """
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text())
    return write_model(path, config, load_file(folder / "model.safetensors"), **options)


def write_model(
    path: Path,
    config: Mapping[str, Any],
    weights: Mapping[str, NDArray[np.float32]],
    *,
    quantize: Callable[[str], str] = lambda name: "F32",
    extra: Mapping[str, Any] | None = None,
    tensors: Mapping[str, NDArray[np.float32]] | None = None,
) -> Path:
    """Write a model of Hugging Face names and values as a GGUF file."""
    import gguf

    architecture = _ARCHITECTURES[config["model_type"]]
    writer = gguf.GGUFWriter(path, architecture)
    _add_metadata(writer, architecture, config)
    add_tiny_tokenizer(writer, config["vocab_size"])
    for key, value in (extra or {}).items():
        add_field(writer, key, value)
    stored = {_gguf_name(name, architecture): _stored(name, value, config) for name, value in weights.items()}
    for name, value in {**stored, **(tensors or {})}.items():
        kind = quantize(name) if value.ndim == 2 else "F32"
        if kind == "F32":
            writer.add_tensor(name, value)
        else:
            dtype = gguf.GGMLQuantizationType[kind]
            writer.add_tensor(name, gguf.quants.quantize(value, dtype), raw_dtype=dtype)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add_field(writer: Any, key: str, value: Any) -> None:
    """One metadata field of the kind of `value`."""
    kinds = {bool: "bool", int: "uint32", float: "float32", str: "string", list: "array"}
    getattr(writer, f"add_{kinds[type(value)]}")(key, value)


def add_tiny_tokenizer(writer: Any, rows: int, pre: str = "gpt-2", merges: Sequence[str] = MERGES) -> None:
    """The tokenizer of `tiny_tokenizer` as metadata, padded to the logits' rows as the converter does."""
    tokens = list(tiny_vocabulary())
    kinds = [3 if token in SPECIAL_TOKENS else 1 for token in tokens]
    padding = [f"[PAD{index}]" for index in range(len(tokens), rows)]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens + padding)
    writer.add_token_types(kinds + [5] * len(padding))
    writer.add_token_merges(list(merges))
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def _add_metadata(writer: Any, architecture: str, config: Mapping[str, Any]) -> None:
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    head_size = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    writer.add_key_length(head_size)
    writer.add_value_length(head_size)
    rope = config["rope_parameters"]
    rope = rope.get("full_attention", rope)
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] in ("linear", "yarn"):
        writer.add_string(f"{architecture}.rope.scaling.type", rope["rope_type"])
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if config.get("sliding_window"):
        writer.add_sliding_window(config["sliding_window"])
    if architecture == "gemma3":
        sliding = [kind == "sliding_attention" for kind in config["layer_types"]]
        writer.add_uint32("gemma3.attention.sliding_window_pattern", sliding.index(False) + 1)


def _gguf_name(name: str, architecture: str) -> str:
    if name in _TOP:
        return _TOP[name]
    index, module = name.removeprefix("model.layers.").split(".", 1)
    module, kind = module.rsplit(".", 1)
    after_attention = "post_attention_norm" if architecture == "gemma3" else "ffn_norm"
    return f"blk.{index}.{ {**_PARTS, 'post_attention_layernorm': after_attention}[module] }.{kind}"


def _stored(name: str, value: NDArray[np.float32], config: Mapping[str, Any]) -> NDArray[np.float32]:
    """The converter's changes: llama's q and k in rotated pairs, Gemma's norms with the 1 added."""
    architecture = _ARCHITECTURES[config["model_type"]]
    if architecture == "gemma3" and name.endswith("norm.weight"):
        return value + np.float32(1)
    heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}.get(name.split(".")[-2])
    if architecture != "llama" or heads is None:
        return value
    halves = value.reshape(config[heads], 2, -1, *value.shape[1:])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(value.shape)
