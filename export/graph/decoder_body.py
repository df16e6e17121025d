"""The decoder's body, driven by DecoderConfig: embedding and layers, for every family.

The residual stream, norms, rotary positions and the attention's softmax are float32 in every precision (a
float16 residual overflows on some models); matrices and the cache have the compute type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from redraft.export.checkpoint.base import Checkpoint
from redraft.export.config import DecoderConfig
from redraft.export.precision import Precision

from .parts import NUMBER_TYPES, Attention, MatrixSource, StoredMatrix, add_matrix, embed, linear, rms_norm
from .writing import FLOAT, GraphBuilder


class DecoderBody:
    """Appends the body to a graph whose inputs are declared; `layers` are the source's that it keeps."""

    def __init__(
        self,
        builder: GraphBuilder,
        checkpoint: Checkpoint,
        precision: Precision,
        layers: Sequence[int],
        inputs: Mapping[str, ir.Value],
    ) -> None:
        self.builder = builder
        self.checkpoint = checkpoint
        self.config: DecoderConfig = checkpoint.config
        self.precision = precision
        self.compute = NUMBER_TYPES[precision.compute]
        self.inputs = inputs
        self._layers = layers
        self._attention = Attention(builder, self.config, self.compute, inputs)
        self.embedding: StoredMatrix = add_matrix(
            builder,
            "embed",
            MatrixSource(checkpoint, "embed.weight"),
            precision.embedding,
            self.compute if precision.embedding != "fp32" else FLOAT,
        )

    def build(self) -> tuple[ir.Value, list[tuple[ir.Value, ir.Value]]]:
        """The last residual [B, S, E] float32, and each layer's present keys and values [B, G, N, Hd]."""
        builder = self.builder
        x = embed(builder, "embed", self.inputs["input_ids"], self.embedding)
        if self.config.embedding_scale != 1.0:
            scale = builder.scalar(self.config.embedding_scale, "embed.scale_factor")
            x = builder.op("Mul", [x, scale], "embed/scaled")
        present = []
        for index, source in enumerate(self._layers):
            x, cache = self._layer(x, f"layers.{index}", f"layers.{source}", index, source)
            present.append(cache)
        return x, present

    def _layer(
        self, x: ir.Value, name: str, source: str, index: int, source_index: int
    ) -> tuple[ir.Value, tuple[ir.Value, ir.Value]]:
        normed = self.norm(f"{name}.attention_norm", f"{source}.attention_norm", x, self.compute)
        q = self._linear(f"{name}.q", f"{source}.q", normed, FLOAT)
        k = self._linear(f"{name}.k", f"{source}.k", normed, FLOAT)
        v = self._linear(f"{name}.v", f"{source}.v", normed, self.compute)
        if self.config.qk_norm:
            q = self.norm(f"{name}.q_norm", f"{source}.q_norm", self._attention.split(f"{name}.q", q), FLOAT)
            k = self.norm(f"{name}.k_norm", f"{source}.k_norm", self._attention.split(f"{name}.k", k), FLOAT)
        else:
            q, k = self._attention.split(f"{name}.q", q), self._attention.split(f"{name}.k", k)
        attended, cache = self._attention.attend(name, index, self.config.layers[source_index], q, k, v)
        y = self._linear(f"{name}.o", f"{source}.o", attended, FLOAT)
        if self.config.sandwich_norms:
            y = self.norm(f"{name}.post_attention_norm", f"{source}.post_attention_norm", y, FLOAT)
        x = self.builder.op("Add", [x, y], f"{name}/after_attention")
        y = self._mlp(name, source, self.norm(f"{name}.mlp_norm", f"{source}.mlp_norm", x, self.compute))
        if self.config.sandwich_norms:
            y = self.norm(f"{name}.post_mlp_norm", f"{source}.post_mlp_norm", y, FLOAT)
        return self.builder.op("Add", [x, y], f"{name}/after_mlp"), cache

    def _mlp(self, name: str, source: str, x: ir.Value) -> ir.Value:
        builder = self.builder
        gate = self._linear(f"{name}.gate", f"{source}.gate", x, self.compute)
        up = self._linear(f"{name}.up", f"{source}.up", x, self.compute)
        if self.config.activation == "silu":
            active = builder.op(
                "Mul", [gate, builder.op("Sigmoid", [gate], f"{name}.gate/sigmoid")], f"{name}.gate/silu"
            )
        else:
            approximate = "tanh" if self.config.activation == "gelu_tanh" else "none"
            active = builder.op("Gelu", [gate], f"{name}.gate/gelu", approximate=approximate)
        gated = builder.op("Mul", [active, up], f"{name}.mlp/gated")
        return self._linear(f"{name}.down", f"{source}.down", gated, FLOAT)

    def norm(self, name: str, source: str, x: ir.Value, output: ir.DataType) -> ir.Value:
        """RMS norm of x over its last axis with the checkpoint's weight `<source>.weight`, as `output`."""
        weight = self.builder.weight(f"{name}.weight", self.checkpoint.load(f"{source}.weight"))
        return rms_norm(self.builder, name, x, weight, self.config.norm_eps, output)

    def _linear(self, name: str, source: str, x: ir.Value, output: ir.DataType) -> ir.Value:
        matrix = add_matrix(
            self.builder,
            name,
            MatrixSource(self.checkpoint, f"{source}.weight"),
            self.precision.body,
            self.compute,
        )
        bias = None
        if self._has_bias(name.rsplit(".", 1)[1]):
            bias = self.builder.weight(f"{name}.bias", self.checkpoint.load(f"{source}.bias"))
        return linear(self.builder, name, x, matrix, bias=bias, output=output)

    def _has_bias(self, part: str) -> bool:
        if part in ("q", "k", "v"):
            return self.config.qkv_bias
        return self.config.output_bias if part == "o" else self.config.mlp_bias
