"""The canonical tensors that a decoder has, with their shapes."""

from __future__ import annotations

from .decoder_config import DecoderConfig


def tensor_shapes(config: DecoderConfig) -> dict[str, tuple[int, ...]]:
    """Canonical name (as in `Checkpoint`) -> shape, in the order of the forward pass."""
    shapes: dict[str, tuple[int, ...]] = {"embed.weight": (config.head_rows, config.hidden_size)}
    for index in range(config.num_layers):
        layer = _layer_shapes(config)
        shapes.update({f"layers.{index}.{name}": shape for name, shape in layer.items()})
    shapes["final_norm.weight"] = (config.hidden_size,)
    if not config.tied_head:
        shapes["head.weight"] = (config.head_rows, config.hidden_size)
    return shapes


def _layer_shapes(config: DecoderConfig) -> dict[str, tuple[int, ...]]:
    hidden, inner = config.hidden_size, config.intermediate_size
    queries, keys = config.num_heads * config.head_size, config.num_kv_heads * config.head_size
    linears = (
        ("q", queries, hidden, config.qkv_bias),
        ("k", keys, hidden, config.qkv_bias),
        ("v", keys, hidden, config.qkv_bias),
        ("o", hidden, queries, config.output_bias),
        ("gate", inner, hidden, config.mlp_bias),
        ("up", inner, hidden, config.mlp_bias),
        ("down", hidden, inner, config.mlp_bias),
    )
    shapes: dict[str, tuple[int, ...]] = {"attention_norm.weight": (hidden,), "mlp_norm.weight": (hidden,)}
    if config.qk_norm:
        shapes |= {"q_norm.weight": (config.head_size,), "k_norm.weight": (config.head_size,)}
    if config.sandwich_norms:
        shapes |= {"post_attention_norm.weight": (hidden,), "post_mlp_norm.weight": (hidden,)}
    for name, rows, columns, bias in linears:
        shapes[f"{name}.weight"] = (rows, columns)
        if bias:
            shapes[f"{name}.bias"] = (rows,)
    return shapes
