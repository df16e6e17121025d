"""DecoderConfig: the one description from which every supported family's graph is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Activation = Literal["silu", "gelu_tanh", "gelu"]
RopeScaling = Literal["none", "linear", "llama3", "yarn"]


@dataclass(frozen=True, slots=True)
class RopeConfig:
    """Rotary positions: `theta`, and a scaling rule with its parameters (transformers' names)."""

    theta: float
    scaling: RopeScaling = "none"
    factor: float = 1.0
    original_max_positions: int | None = None
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: bool = True


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """What may differ from layer to layer: the window and the rotary positions.

    `window`: a query sees that many keys, itself among them; None is full attention.
    """

    window: int | None
    rope: RopeConfig


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """A pre-norm decoder with rotary positions, grouped-query attention and a gated MLP.

    Norm weights are canonical: a family that stores w and multiplies by (1 + w) is loaded as 1 + w. Linear
    weights are [out, in]. `attention_scale` multiplies q·k. `sandwich_norms`: norms after attention and after
    the MLP, before the residual sum (Gemma). `head_rows` is T, the rows of the logits; `tokenizer` sizes live
    elsewhere.
    """

    family: str
    head_rows: int  # T
    hidden_size: int  # E
    num_heads: int  # H
    num_kv_heads: int  # G
    head_size: int  # Hd
    intermediate_size: int
    layers: tuple[LayerConfig, ...]
    norm_eps: float
    activation: Activation
    attention_scale: float
    max_positions: int
    tied_head: bool
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    sandwich_norms: bool = False
    embedding_scale: float = 1.0
    attention_soft_cap: float | None = None
    logit_soft_cap: float | None = None

    @property
    def num_layers(self) -> int:
        """L."""
        return len(self.layers)
