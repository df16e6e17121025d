"""transformers as the oracle: logits of a whole sequence, without a cache."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from redraft.export.checkpoint.base import Checkpoint


def oracle_logits(model: Any, ids: NDArray[Any], *, last: int = 0) -> NDArray[np.float32]:
    """[B, S, T] float32 logits of a transformers model for ids [B, S]; of the `last` positions only, where given."""
    import torch

    with torch.no_grad():
        return model(torch.tensor(ids), use_cache=False, logits_to_keep=last).logits.float().numpy()


def oracle_with_weights(checkpoint: Checkpoint) -> Any:
    """A transformers Gemma 3 of the checkpoint's sizes, filled with its (dequantised) tensors."""
    import torch
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    config = checkpoint.config
    assert config.family == "gemma3_text"
    assert config.tied_head
    ropes = {layer.window is None: layer.rope.theta for layer in config.layers}
    model = Gemma3ForCausalLM(
        Gemma3TextConfig(
            vocab_size=config.head_rows,
            hidden_size=config.hidden_size,
            intermediate_size=config.intermediate_size,
            num_hidden_layers=config.num_layers,
            num_attention_heads=config.num_heads,
            num_key_value_heads=config.num_kv_heads,
            head_dim=config.head_size,
            rms_norm_eps=config.norm_eps,
            query_pre_attn_scalar=config.attention_scale**-2,
            sliding_window=min(layer.window for layer in config.layers if layer.window),
            layer_types=[
                "full_attention" if layer.window is None else "sliding_attention" for layer in config.layers
            ],
            rope_parameters={
                "full_attention": {"rope_type": "default", "rope_theta": ropes[True]},
                "sliding_attention": {"rope_type": "default", "rope_theta": ropes[False]},
            },
        )
    ).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(checkpoint.load(_canonical(name)) - ("norm" in name)))
    return model


def honour_attention_soft_cap(monkeypatch: pytest.MonkeyPatch, cap: float) -> None:
    """Make Gemma 3's eager attention apply its soft cap: transformers reads it and leaves it unused."""
    from transformers.models.gemma3 import modeling_gemma3

    capped = partial(modeling_gemma3.eager_attention_forward, softcap=cap)
    monkeypatch.setattr(modeling_gemma3, "eager_attention_forward", capped)


def _canonical(name: str) -> str:
    """The canonical name of a Gemma 3 parameter."""
    name = name.removeprefix("model.").replace("embed_tokens", "embed").replace("_proj", "")
    if not name.startswith("layers."):
        return "final_norm.weight" if name == "norm.weight" else name
    for old, new in (
        ("input_layernorm", "attention_norm"),
        ("post_attention_layernorm", "post_attention_norm"),
        ("pre_feedforward_layernorm", "mlp_norm"),
        ("post_feedforward_layernorm", "post_mlp_norm"),
        ("self_attn.", ""),
        ("mlp.", ""),
    ):
        name = name.replace(old, new)
    return name
