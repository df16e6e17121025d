"""A small canonical decoder graph, written by hand with random weights: independent of the exporter."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from redraft._core.tensor_spec import TensorSpec
from redraft.export.graph_spec import DATA_FILE, GRAPH_FILE, SPEC_FILE, GraphSpec

BLOCK = 32


@dataclass(frozen=True)
class TinyDecoder:
    """Sizes and features of the graph. `weights`: fp32, int4 or int8 (blocked, asymmetric)."""

    num_layers: int = 2
    num_heads: int = 4  # H
    num_kv_heads: int = 2  # G
    head_size: int = 16  # Hd
    hidden_size: int = 64  # E
    intermediate_size: int = 96
    rows: int = 128  # T
    max_positions: int = 256
    windows: tuple[int | None, ...] = (None, None)
    weights: str = "fp32"
    qkv_bias: bool = False
    qk_norm: bool = False
    sandwich_norms: bool = False
    softcap: float = 0.0
    activation: str = "silu"
    hidden_output: bool = True
    interleaved: bool = False
    seed: int = 0


class _Builder:
    def __init__(self, config: TinyDecoder) -> None:
        self.config = config
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.random = np.random.default_rng(config.seed)

    def constant(self, name: str, value: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(value, name))
        return name

    def op(self, kind: str, inputs: list[str], name: str, num_outputs: int = 1, **attributes: object) -> str:
        outputs = [name] if num_outputs == 1 else [f"{name}.{i}" for i in range(num_outputs)]
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=f"node/{name}", **attributes))
        return outputs[0]

    def weight(self, name: str, rows: int, columns: int) -> str:
        """An [out, in] matrix, dequantised in the graph where the configuration says so, then transposed."""
        return self.op("Transpose", [self.stored(name, columns, rows)], f"{name}.transposed", perm=[1, 0])

    def stored(self, name: str, rows: int, columns: int) -> str:
        value = (self.random.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)
        if self.config.weights == "fp32":
            return self.constant(name, value)
        kind, top = (TensorProto.UINT4, 15) if self.config.weights == "int4" else (TensorProto.UINT8, 255)
        blocks = columns // BLOCK
        codes = self.random.integers(0, top + 1, (rows, columns)).astype(np.uint8)
        scale = (
            np.abs(self.random.standard_normal((rows, blocks))) / (top * np.sqrt(columns)) + 1e-3
        ).astype(np.float32)
        zero = self.random.integers(top // 2 - 1, top // 2 + 2, (rows, blocks)).astype(np.uint8)
        self.initializers.append(_packed(f"{name}.q", kind, codes))
        self.initializers.append(_packed(f"{name}.zero", kind, zero))
        self.constant(f"{name}.scale", scale)
        inputs = [f"{name}.q", f"{name}.scale", f"{name}.zero"]
        return self.op("DequantizeLinear", inputs, f"{name}.dequantized", axis=1, block_size=BLOCK)

    def linear(self, x: str, name: str, rows: int, columns: int, bias: bool = False) -> str:
        y = self.op("MatMul", [x, self.weight(f"{name}.weight", rows, columns)], f"{name}.product")
        if not bias:
            return y
        b = self.constant(f"{name}.bias", self.random.standard_normal(columns).astype(np.float32))
        return self.op("Add", [y, b], f"{name}.sum")

    def norm(self, x: str, name: str, size: int) -> str:
        gain = self.constant(
            f"{name}.weight", (1 + 0.1 * self.random.standard_normal(size)).astype(np.float32)
        )
        return self.op("RMSNormalization", [x, gain], name, axis=-1, epsilon=1e-5)

    def heads(self, x: str, name: str, num_heads: int, norm: bool) -> str:
        shape = self.constant(f"{name}.shape", np.array([0, 0, num_heads, self.config.head_size], np.int64))
        x = self.op("Reshape", [x, shape], f"{name}.split")
        if norm:
            x = self.norm(x, f"{name}.norm", self.config.head_size)
        return self.op("Transpose", [x], f"{name}.heads", perm=[0, 2, 1, 3])

    def attention(self, x: str, layer: int) -> str:
        c, p = self.config, f"layers.{layer}.attention"
        q_size, kv_size = c.num_heads * c.head_size, c.num_kv_heads * c.head_size
        q = self.linear(x, f"{p}.q", c.hidden_size, q_size, c.qkv_bias)
        k = self.linear(x, f"{p}.k", c.hidden_size, kv_size, c.qkv_bias)
        v = self.linear(x, f"{p}.v", c.hidden_size, kv_size, c.qkv_bias)
        q, k = (
            self.heads(q, f"{p}.q", c.num_heads, c.qk_norm),
            self.heads(k, f"{p}.k", c.num_kv_heads, c.qk_norm),
        )
        v = self.heads(v, f"{p}.v", c.num_kv_heads, False)
        rotary = ["rope.cos", "rope.sin", "position_ids"]
        q = self.op("RotaryEmbedding", [q, *rotary], f"{p}.q.rotary", interleaved=int(c.interleaved))
        k = self.op("RotaryEmbedding", [k, *rotary], f"{p}.k.rotary", interleaved=int(c.interleaved))
        key = self.op(
            "TensorScatter", [f"past_key_values.{layer}.key", k, "write_pos"], f"present.{layer}.key", axis=2
        )
        value = self.op(
            "TensorScatter",
            [f"past_key_values.{layer}.value", v, "write_pos"],
            f"present.{layer}.value",
            axis=2,
        )
        bias = "attention_bias" if c.windows[layer] is None else "attention_bias_local"
        softcap = {"softcap": c.softcap} if c.softcap else {}
        y = self.op("Attention", [q, key, value, bias], f"{p}.mixed", scale=0.2, **softcap)
        y = self.op("Transpose", [y], f"{p}.rows", perm=[0, 2, 1, 3])
        y = self.op(
            "Reshape", [y, self.constant(f"{p}.shape", np.array([0, 0, q_size], np.int64))], f"{p}.joined"
        )
        return self.linear(y, f"{p}.o", q_size, c.hidden_size)

    def mlp(self, x: str, layer: int) -> str:
        c, p = self.config, f"layers.{layer}.mlp"
        gate = self.linear(x, f"{p}.gate", c.hidden_size, c.intermediate_size)
        up = self.linear(x, f"{p}.up", c.hidden_size, c.intermediate_size)
        if c.activation == "silu":
            active = self.op("Mul", [gate, self.op("Sigmoid", [gate], f"{p}.sigmoid")], f"{p}.active")
        else:
            active = self.op("Gelu", [gate], f"{p}.active", approximate="tanh")
        return self.linear(
            self.op("Mul", [active, up], f"{p}.gated"), f"{p}.down", c.intermediate_size, c.hidden_size
        )

    def build(self) -> onnx.ModelProto:
        c = self.config
        angles = np.arange(c.max_positions)[:, None] / 10000.0 ** (np.arange(0, c.head_size, 2) / c.head_size)
        self.constant("rope.cos", np.cos(angles).astype(np.float32))
        self.constant("rope.sin", np.sin(angles).astype(np.float32))
        x = self.op("Gather", [self.stored("embedding", c.rows, c.hidden_size), "input_ids"], "embedded")
        for layer in range(c.num_layers):
            y = self.attention(self.norm(x, f"layers.{layer}.norm1", c.hidden_size), layer)
            if c.sandwich_norms:
                y = self.norm(y, f"layers.{layer}.norm1b", c.hidden_size)
            x = self.op("Add", [x, y], f"layers.{layer}.residual1")
            y = self.mlp(self.norm(x, f"layers.{layer}.norm2", c.hidden_size), layer)
            if c.sandwich_norms:
                y = self.norm(y, f"layers.{layer}.norm2b", c.hidden_size)
            x = self.op("Add", [x, y], f"layers.{layer}.residual2")
        axes = self.constant("last_axis", np.array([2], np.int64))
        rows = self.op("Unsqueeze", ["logit_rows", axes], "rows")
        x = self.op("GatherND", [x, rows], "asked_rows", batch_dims=1)
        hidden = self.norm(x, "hidden", c.hidden_size)
        self.linear(hidden, "head", c.hidden_size, c.rows)
        self.nodes[-1].output[0] = "logits"
        spec = tiny_spec(c)
        graph = helper.make_graph(
            self.nodes,
            "tiny",
            [_info(tensor) for tensor in spec.inputs],
            [_info(tensor) for tensor in spec.outputs],
            self.initializers,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)


def tiny_spec(config: TinyDecoder) -> GraphSpec:
    """The specification of the graph."""
    cache = ("B", "G", "N", "Hd")
    names = [f"{i}.{part}" for i in range(config.num_layers) for part in ("key", "value")]
    inputs = [
        TensorSpec("input_ids", "int64", ("B", "S")),
        TensorSpec("position_ids", "int64", ("B", "S")),
        TensorSpec("write_pos", "int64", ("B",)),
        TensorSpec("logit_rows", "int64", ("B", "R")),
    ]
    if None in config.windows:
        inputs.append(TensorSpec("attention_bias", "float32", ("B", 1, "S", "N")))
    if any(window is not None for window in config.windows):
        inputs.append(TensorSpec("attention_bias_local", "float32", ("B", 1, "S", "N")))
    inputs += [TensorSpec(f"past_key_values.{name}", "float32", cache) for name in names]
    outputs = [TensorSpec("logits", "float32", ("B", "R", "T"))]
    if config.hidden_output:
        outputs.append(TensorSpec("hidden", "float32", ("B", "R", "E")))
    outputs += [TensorSpec(f"present.{name}", "float32", cache) for name in names]
    sizes = {
        "T": config.rows, "E": config.hidden_size, "L": config.num_layers,
        "H": config.num_heads, "G": config.num_kv_heads, "Hd": config.head_size,
    }  # fmt: skip
    return GraphSpec(
        role="target", variant="logits", precision={"body": config.weights}, inputs=tuple(inputs),
        outputs=tuple(outputs), sizes=sizes, windows=config.windows, max_positions=config.max_positions,
        cache_dtype="float32", opset=24,
    )  # fmt: skip


def write_tiny(folder: Path, config: TinyDecoder) -> GraphSpec:
    """Write `model.onnx`, its data and `graph.json` into `folder`."""
    import json

    folder.mkdir(parents=True, exist_ok=True)
    model = _Builder(config).build()
    onnx.save(model, folder / GRAPH_FILE, save_as_external_data=True, location=DATA_FILE, size_threshold=256)
    spec = tiny_spec(config)
    (folder / SPEC_FILE).write_text(json.dumps(spec.to_json()))
    return spec


def _info(tensor: TensorSpec) -> onnx.ValueInfoProto:
    kind = TensorProto.INT64 if tensor.dtype == "int64" else TensorProto.FLOAT
    return helper.make_tensor_value_info(tensor.name, kind, list(tensor.axes))


def _packed(name: str, kind: int, codes: np.ndarray) -> onnx.TensorProto:
    flat = codes.ravel()
    data = flat if kind == TensorProto.UINT8 else flat[0::2] | (flat[1::2] << 4)
    return helper.make_tensor(name, kind, codes.shape, data.astype(np.uint8).tobytes(), raw=True)
