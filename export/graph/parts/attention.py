"""Rotary positions, the cache's update and the attention of one layer."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from redraft.export.config import DecoderConfig, LayerConfig, RopeConfig
from redraft.export.graph.writing import FLOAT, GraphBuilder

from .rope_tables import rope_tables


class Attention:
    """Appends attention nodes; keeps one pair of rotary tables for every distinct rule."""

    def __init__(
        self,
        builder: GraphBuilder,
        config: DecoderConfig,
        compute: ir.DataType,
        inputs: Mapping[str, ir.Value],
    ) -> None:
        self._builder = builder
        self._config = config
        self._compute = compute
        self._inputs = inputs
        self._tables: dict[RopeConfig, tuple[ir.Value, ir.Value]] = {}

    def split(self, name: str, x: ir.Value) -> ir.Value:
        """[B, S, heads·Hd] -> [B, S, heads, Hd]."""
        return self._builder.op(
            "Reshape", [x, self._builder.ints(0, 0, -1, self._config.head_size)], f"{name}/heads"
        )

    def attend(
        self, name: str, index: int, layer: LayerConfig, q: ir.Value, k: ir.Value, v: ir.Value
    ) -> tuple[ir.Value, tuple[ir.Value, ir.Value]]:
        """Write the new keys and values into the cache and read all of it.

        Args:
            name: the layer's name.
            index: its cache's number.
            layer: its window and rotary rule.
            q: [B, S, H, Hd] float32; k: [B, S, G, Hd] float32; v: [B, S, G·Hd] of the compute type.

        Returns:
            The heads' outputs [B, S, H·Hd] of the compute type; present key and value [B, G, N, Hd].
        """
        builder = self._builder
        q = self._rotate(f"{name}.q", q, layer.rope)
        k = self._rotate(f"{name}.k", k, layer.rope)
        v = self._heads_first(f"{name}.v", self.split(f"{name}.v", v))
        key = self._update(f"{name}.key_cache", f"past_key_values.{index}.key", k)
        value = self._update(f"{name}.value_cache", f"past_key_values.{index}.value", v)
        bias = self._inputs["attention_bias" if layer.window is None else "attention_bias_local"]
        y = builder.op(
            "Attention",
            [q, key, value, bias],
            f"{name}.attention",
            scale=self._config.attention_scale,
            softmax_precision=int(FLOAT),
            metadata={"redraft.role": "attention", "redraft.window": str(layer.window or "")},
            softcap=self._config.attention_soft_cap or 0.0,
        )
        y = builder.op("Transpose", [y], f"{name}.attention/rows", perm=[0, 2, 1, 3])
        return builder.op("Reshape", [y, builder.ints(0, 0, -1)], f"{name}.attention/merged"), (key, value)

    def _rotate(self, name: str, x: ir.Value, rope: RopeConfig) -> ir.Value:
        """[B, S, heads, Hd] float32 -> rotated [B, heads, S, Hd] of the compute type."""
        cos, sin = self._rope_tables(rope)
        x = self._heads_first(name, x)
        x = self._builder.op(
            "RotaryEmbedding", [x, cos, sin, self._inputs["position_ids"]], f"{name}/rotary", interleaved=0
        )
        return self._builder.cast(x, self._compute, f"{name}/narrow")

    def _heads_first(self, name: str, x: ir.Value) -> ir.Value:
        return self._builder.op("Transpose", [x], f"{name}/heads_first", perm=[0, 2, 1, 3])

    def _update(self, name: str, past: str, new: ir.Value) -> ir.Value:
        """The cache with `new` [B, heads, S, Hd] at slots write_pos .. write_pos + S - 1."""
        return self._builder.op(
            "TensorScatter",
            [self._inputs[past], new, self._inputs["write_pos"]],
            name,
            mode="linear",
            axis=-2,
        )

    def _rope_tables(self, rope: RopeConfig) -> tuple[ir.Value, ir.Value]:
        if rope not in self._tables:
            name = f"rope.{len(self._tables)}"
            cos, sin = rope_tables(rope, self._config.head_size, self._config.max_positions)
            self._tables[rope] = (
                self._builder.weight(f"{name}.cos", cos),
                self._builder.weight(f"{name}.sin", sin),
            )
        return self._tables[rope]
