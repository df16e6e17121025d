"""transformers as the oracle: logits of a whole sequence, without a cache."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from redraft.export.checkpoint.base import Checkpoint
from redraft.export.config import DecoderConfig


def oracle_logits(model: Any, ids: NDArray[Any], *, last: int = 0) -> NDArray[np.float32]:
    """[B, S, T] float32 logits of a transformers model for ids [B, S]; of the `last` positions if given."""
    import torch

    with torch.no_grad():
        return model(torch.tensor(ids), use_cache=False, logits_to_keep=last).logits.float().numpy()


def oracle_with_weights(checkpoint: Checkpoint) -> Any:
    """A transformers Llama or Gemma 3 of the checkpoint's sizes, filled with its (dequantised) tensors."""
    import torch

    model = _gemma(checkpoint.config) if checkpoint.config.sandwich_norms else _llama(checkpoint.config)
    names = _GEMMA_NAMES if checkpoint.config.sandwich_norms else _LLAMA_NAMES
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            tensor = checkpoint.load(_canonical(name, names))
            gemma_norm = checkpoint.config.sandwich_norms and "norm" in name
            parameter.copy_(torch.tensor(tensor - 1 if gemma_norm else tensor))
    return model.eval()


def honour_attention_soft_cap(monkeypatch: pytest.MonkeyPatch, cap: float) -> None:
    """Make Gemma 3's eager attention apply its soft cap: transformers reads it and leaves it unused."""
    from transformers.models.gemma3 import modeling_gemma3

    capped = partial(modeling_gemma3.eager_attention_forward, softcap=cap)
    monkeypatch.setattr(modeling_gemma3, "eager_attention_forward", capped)


def _sizes(config: DecoderConfig) -> dict[str, Any]:
    return {
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
    }


def _llama(config: DecoderConfig) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    rope = {"rope_type": "default", "rope_theta": config.layers[0].rope.theta}
    return LlamaForCausalLM(LlamaConfig(**_sizes(config), rope_parameters=rope))


def _gemma(config: DecoderConfig) -> Any:
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    kinds = {None: "full_attention"}
    thetas = {kinds.get(layer.window, "sliding_attention"): layer.rope.theta for layer in config.layers}
    return Gemma3ForCausalLM(
        Gemma3TextConfig(
            **_sizes(config),
            query_pre_attn_scalar=round(config.attention_scale**-2),
            sliding_window=min(layer.window for layer in config.layers if layer.window),
            layer_types=[kinds.get(layer.window, "sliding_attention") for layer in config.layers],
            rope_parameters={
                kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()
            },
        )
    )


_LLAMA_NAMES = (
    ("input_layernorm", "attention_norm"),
    ("post_attention_layernorm", "mlp_norm"),
    ("self_attn.", ""),
    ("mlp.", ""),
)
_GEMMA_NAMES = (
    ("input_layernorm", "attention_norm"),
    ("post_attention_layernorm", "post_attention_norm"),
    ("pre_feedforward_layernorm", "mlp_norm"),
    ("post_feedforward_layernorm", "post_mlp_norm"),
    ("self_attn.", ""),
    ("mlp.", ""),
)


def _canonical(name: str, names: tuple[tuple[str, str], ...]) -> str:
    """The canonical name of a transformers parameter."""
    name = name.removeprefix("model.").replace("embed_tokens", "embed").replace("_proj", "")
    if not name.startswith("layers."):
        return {"norm.weight": "final_norm.weight", "lm_head.weight": "head.weight"}.get(name, name)
    for old, new in names:
        name = name.replace(old, new)
    return name
