"""Tensor names of GGUF files, and the row order of llama's q and k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft.export.config import DecoderConfig

_TOP = {
    "embed.weight": "token_embd.weight",
    "final_norm.weight": "output_norm.weight",
    "head.weight": "output.weight",
}
_PARTS = {
    **{name: f"attn_{name}" for name in ("q", "k", "v", "q_norm", "k_norm")},
    "o": "attn_output",
    **{name: f"ffn_{name}" for name in ("gate", "up", "down")},
    "attention_norm": "attn_norm",
    "mlp_norm": "ffn_norm",
    "post_attention_norm": "post_attention_norm",
    "post_mlp_norm": "post_ffw_norm",
}
LEFT_OUT = frozenset({"rope_freqs.weight"})
"""Tensors that the description has taken in already."""


def gguf_name(name: str) -> str:
    """`layers.3.q.weight` -> `blk.3.attn_q.weight`."""
    if name in _TOP:
        return _TOP[name]
    _, index, part, kind = name.split(".")
    return f"blk.{index}.{_PARTS[part]}.{kind}"


def half_split_rows(name: str, config: DecoderConfig) -> NDArray[np.int64] | None:
    """The stored row of every canonical row of a llama file's q or k; None where both orders agree.

    Such files store each head's rows in pairs (0, Hd/2, 1, Hd/2 + 1, …), because llama.cpp rotates
    neighbours; the canonical order is half-split.
    """
    heads = {"q": config.num_heads, "k": config.num_kv_heads}.get(name.split(".")[-2])
    if config.family != "llama" or heads is None:
        return None
    rows = np.arange(heads * config.head_size, dtype=np.int64)
    return rows.reshape(heads, config.head_size // 2, 2).swapaxes(1, 2).reshape(-1)
