"""Family: what is particular to a model type, and the decoder description that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from redraft._core.errors import UnsupportedError

from .decoder_config import Activation, DecoderConfig, LayerConfig
from .fields import ConfigFields
from .harmless_fields import FIXED, HARMLESS

ACTIVATIONS: dict[str, Activation] = {
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
}


@dataclass(frozen=True, slots=True)
class Family:
    """One `model_type`: how its config becomes a DecoderConfig, and how its files store norm weights.

    `defaults` are the values of fields that a config may leave out, as in transformers. `norm_offset` is
    added to every stored norm weight (Gemma stores w and multiplies by 1 + w).
    """

    model_type: str
    architectures: tuple[str, ...]
    describe: Callable[[ConfigFields], DecoderConfig]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    norm_offset: float = 0.0

    def decoder_config(self, values: Mapping[str, Any], where: str) -> DecoderConfig:
        """The description; UnsupportedError names the first field, or value of one, that is not supported."""
        fields = ConfigFields({**self.defaults, **values}, where)
        for name in fields.get("architectures") or ():
            if name not in self.architectures:
                raise UnsupportedError(
                    f"{fields.where}: architecture '{name}' of '{self.model_type}' is not supported "
                    f"(supported: {', '.join(self.architectures)})"
                )
        for name, supported in FIXED.items():
            fields.require(name, supported)
        config = self.describe(fields)
        fields.ignore(HARMLESS)
        fields.finish()
        return config


def plain_decoder(
    fields: ConfigFields,
    layers: tuple[LayerConfig, ...],
    family: str,
    *,
    activation_field: str = "hidden_act",
) -> DecoderConfig:
    """The part of the description that every family writes in the same fields."""
    hidden_size, num_heads = fields.integer("hidden_size"), fields.integer("num_attention_heads")
    num_kv_heads = fields.integer("num_key_value_heads", num_heads)
    if num_heads % num_kv_heads:
        raise UnsupportedError(
            f"{fields.where}: {num_heads} query heads cannot be shared among {num_kv_heads} key/value heads"
        )
    head_size = _head_size(fields, hidden_size, num_heads)
    fields.require(activation_field, tuple(ACTIVATIONS))
    return DecoderConfig(
        family=family,
        head_rows=fields.integer("vocab_size"),
        hidden_size=hidden_size,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        head_size=head_size,
        intermediate_size=fields.integer("intermediate_size"),
        layers=layers,
        norm_eps=fields.number("rms_norm_eps", 1e-6),
        activation=ACTIVATIONS[fields.get(activation_field) or "silu"],
        attention_scale=head_size**-0.5,
        max_positions=fields.integer("max_position_embeddings"),
        tied_head=fields.boolean("tie_word_embeddings", False),
    )


def _head_size(fields: ConfigFields, hidden_size: int, num_heads: int) -> int:
    """`head_dim`, or E / H where the config does not give it."""
    if fields.get("head_dim") is None and hidden_size % num_heads:
        raise UnsupportedError(
            f"{fields.where}: hidden size {hidden_size} is not a multiple of {num_heads} heads"
        )
    head_size = fields.integer("head_dim", hidden_size // num_heads)
    if head_size % 2:
        raise UnsupportedError(f"{fields.where}: rotary positions need an even head size, got {head_size}")
    return head_size
