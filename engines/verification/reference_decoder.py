"""A decoder's forward pass in plain NumPy: what a checkpoint says, independent of exporter, torch and ONNX.

It recomputes the whole sequence at each call and keeps no cache, so that it shares no shortcut with what it
checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft.export.checkpoint.base import Checkpoint
from redraft.export.config.decoder_config import DecoderConfig, LayerConfig

from .reference_rope import rotary_tables, rotate

Array = NDArray[np.floating[Any]]


def reference_forward(
    checkpoint: Checkpoint,
    target_ids: NDArray[np.int64],
    *,
    dtype: type[np.floating[Any]] = np.float32,
    rows: NDArray[np.int64] | None = None,
    head_rows: NDArray[np.int64] | None = None,
) -> tuple[Array, Array]:
    """Logits and the head's input for one sequence.

    Args:
        checkpoint: read one layer at a time; memory stays at one layer plus the head.
        target_ids: [S].
        dtype: of the arithmetic, float32 or float64.
        rows: positions whose logits are wanted; all S by default.
        head_rows: target ids whose logits are wanted, in this order; all T by default.

    Returns:
        logits [R, T or len(head_rows)] and hidden [R, E], both `dtype`.
    """
    config = checkpoint.config
    positions = np.arange(len(target_ids), dtype=np.int64)
    x = checkpoint.load_rows("embed.weight", target_ids).astype(dtype) * dtype(config.embedding_scale)
    for index, layer in enumerate(config.layers):
        x = _Layer(checkpoint, index, dtype).forward(x, layer, positions)
    chosen = positions if rows is None else rows
    hidden = _rms_norm(x[chosen], checkpoint.load("final_norm.weight").astype(dtype), config.norm_eps)
    tensor = "embed.weight" if config.tied_head else "head.weight"
    head = checkpoint.load(tensor) if head_rows is None else checkpoint.load_rows(tensor, head_rows)
    logits: Array = hidden @ head.astype(dtype).T
    if config.logit_soft_cap is not None:
        logits = config.logit_soft_cap * np.tanh(logits / config.logit_soft_cap)
    return logits, hidden


class _Layer:
    """One decoder layer's weights and arithmetic."""

    def __init__(self, checkpoint: Checkpoint, index: int, dtype: type[np.floating[Any]]) -> None:
        self._checkpoint, self._index, self._dtype = checkpoint, index, dtype
        self._config: DecoderConfig = checkpoint.config

    def _weight(self, name: str) -> Array:
        return self._checkpoint.load(f"layers.{self._index}.{name}").astype(self._dtype)

    def _linear(self, x: Array, name: str, bias: bool) -> Array:
        y = x @ self._weight(f"{name}.weight").T
        return y + self._weight(f"{name}.bias") if bias else y

    def forward(self, x: Array, layer: LayerConfig, positions: NDArray[np.int64]) -> Array:
        """[S, E] -> [S, E]."""
        config = self._config
        attended = self._attention(self._norm(x, "attention_norm"), layer, positions)
        if config.sandwich_norms:
            attended = self._norm(attended, "post_attention_norm")
        x = x + attended
        fed = self._mlp(self._norm(x, "mlp_norm"))
        if config.sandwich_norms:
            fed = self._norm(fed, "post_mlp_norm")
        return x + fed

    def _norm(self, x: Array, name: str) -> Array:
        return _rms_norm(x, self._weight(f"{name}.weight"), self._config.norm_eps)

    def _mlp(self, x: Array) -> Array:
        bias = self._config.mlp_bias
        gate = _ACTIVATIONS[self._config.activation](self._linear(x, "gate", bias))
        return self._linear(gate * self._linear(x, "up", bias), "down", bias)

    def _heads(self, x: Array, name: str, count: int) -> Array:
        y = self._linear(x, name, self._config.qkv_bias)
        return y.reshape(len(x), count, self._config.head_size).transpose(1, 0, 2)

    def _attention(self, x: Array, layer: LayerConfig, positions: NDArray[np.int64]) -> Array:
        config = self._config
        q = self._heads(x, "q", config.num_heads)
        k = self._heads(x, "k", config.num_kv_heads)
        v = self._heads(x, "v", config.num_kv_heads)
        if config.qk_norm:
            q, k = self._norm(q, "q_norm"), self._norm(k, "k_norm")
        cosine, sine = rotary_tables(layer.rope, config.head_size, config.max_positions, positions)
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        group = config.num_heads // config.num_kv_heads
        k, v = np.repeat(k, group, axis=0), np.repeat(v, group, axis=0)
        scores = q @ k.transpose(0, 2, 1) * self._dtype(config.attention_scale)
        if config.attention_soft_cap is not None:
            scores = config.attention_soft_cap * np.tanh(scores / config.attention_soft_cap)
        scores = np.where(_visible(positions, layer.window), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = (weights @ v).transpose(1, 0, 2).reshape(len(x), -1)
        return self._linear(mixed, "o", config.output_bias)


def _visible(positions: NDArray[np.int64], window: int | None) -> NDArray[np.bool_]:
    """[S, S]: whether query i sees key j, causal and within the window."""
    distance = positions[:, None] - positions[None, :]
    return (distance >= 0) if window is None else (distance >= 0) & (distance < window)


def _rms_norm(x: Array, weight: Array, epsilon: float) -> Array:
    y: Array = x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + x.dtype.type(epsilon)) * weight
    return y


def _silu(x: Array) -> Array:
    y: Array = x / (1 + np.exp(-x))
    return y


def _gelu_tanh(x: Array) -> Array:
    y: Array = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return y


def _gelu(x: Array) -> Array:
    error_function = np.frompyfunc(math.erf, 1, 1)
    y: Array = 0.5 * x * (1 + error_function(x / math.sqrt(2)).astype(x.dtype))
    return y


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {"silu": _silu, "gelu_tanh": _gelu_tanh, "gelu": _gelu}
