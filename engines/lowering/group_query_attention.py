"""TensorScatter + RotaryEmbedding + Attention -> com.microsoft GroupQueryAttention over one cache buffer.

Its cost follows the used slots, not the capacity, and it needs no mask: each row's used length says it all.
The mask inputs of the canonical graph are causal (and windowed) by contract, so leaving them out changes
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from .base import LoweringPass, PassReport
from .matching import (
    MICROSOFT,
    add_initializer,
    constant,
    constant_list,
    float_attribute,
    int_attribute,
    only_consumer,
    permutation,
    producer,
)

if TYPE_CHECKING:
    from redraft.export.graph_spec import GraphSpec

SEQLENS_K, TOTAL, QUERY_SEQLENS = "seqlens_k", "total_sequence_length", "query_seqlens"
_BHSD = [0, 2, 1, 3]
_HEAD_MULTIPLE = 16


@dataclass(slots=True)
class _Match:
    layer: int
    attention: ir.Node
    key_scatter: ir.Node
    value_scatter: ir.Node
    query: ir.Value  # [B, H, S, Hd], before rotation where it is folded
    key: ir.Value  # [B, G, S, Hd]
    rotary: ir.Node | None
    window: int | None


class FuseGroupQueryAttention(LoweringPass):
    """One GroupQueryAttention per layer; the rotary positions are folded in where they are half-split."""

    name = "group-query-attention"

    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Rewrite every attention that reads the cache through TensorScatter."""
        report = PassReport(self.name)
        for node in list(model.graph):
            if node.op_type == "Attention" and node.domain in ("", "ai.onnx"):
                match = _match(node, spec)
                if isinstance(match, str):
                    report.refuse(node, match)
                else:
                    _rewrite(model, spec, match)
                    report.changed += 1
        return report


def _match(node: ir.Node, spec: GraphSpec) -> _Match | str:
    """The attention's parts, or the reason why it stays."""
    if spec.sizes["Hd"] % _HEAD_MULTIPLE:
        return f"head size {spec.sizes['Hd']} is not a multiple of {_HEAD_MULTIPLE}"
    query, key, value = node.inputs[:3]
    key_scatter, value_scatter = producer(key, "TensorScatter"), producer(value, "TensorScatter")
    if key_scatter is None or value_scatter is None:
        return "keys or values do not come from a TensorScatter into the cache"
    past = key_scatter.inputs[0]
    if past is None or past.name is None or not past.name.startswith("past_key_values."):
        return "the TensorScatter does not write a cache input"
    for scatter in (key_scatter, value_scatter):
        position = scatter.inputs[2] if len(scatter.inputs) > 2 else None
        if (
            position is None
            or position.name != "write_pos"
            or int_attribute(scatter, "axis", -2) not in (2, -2)
        ):
            return "the TensorScatter does not write along slots from write_pos"
    mask = node.inputs[3] if len(node.inputs) > 3 else None
    if mask is None or mask.name not in ("attention_bias", "attention_bias_local"):
        return "the mask is not one of the canonical mask inputs"
    if int_attribute(node, "is_causal", 0) or int_attribute(node, "qk_matmul_output_mode", 0):
        return "is_causal or qk_matmul_output_mode is set"
    layer = int(past.name.split(".")[1])
    window = spec.windows[layer] if mask.name == "attention_bias_local" else None
    rotary = _common_rotary(query, key_scatter.inputs[1])
    if rotary is not None:
        other = producer(key_scatter.inputs[1], "RotaryEmbedding")
        assert other is not None
        query, new_key = rotary.inputs[0], other.inputs[0]
    else:
        new_key = key_scatter.inputs[1]
    assert query is not None
    assert new_key is not None
    return _Match(layer, node, key_scatter, value_scatter, query, new_key, rotary, window)


def _common_rotary(query: ir.Value | None, key: ir.Value | None) -> ir.Node | None:
    """The RotaryEmbedding of the query where query and key are rotated alike, as GroupQueryAttention can."""
    left, right = producer(query, "RotaryEmbedding"), producer(key, "RotaryEmbedding")
    if left is None or right is None or list(left.inputs[1:]) != list(right.inputs[1:]):
        return None
    if len(left.inputs) < 4 or left.inputs[3] is None or left.inputs[3].name != "position_ids":
        return None
    if int_attribute(left, "interleaved", 0) or int_attribute(right, "interleaved", 0):
        return None
    if constant(left.inputs[1]) is None or constant(left.inputs[2]) is None:
        return None
    return left


def _rewrite(model: ir.Model, spec: GraphSpec, match: _Match) -> None:
    attention = match.attention
    prefix = f"layers.{match.layer}.gqa"
    query = _joined_heads(model, match.query, f"{prefix}.query", attention)
    key = _joined_heads(model, match.key, f"{prefix}.key", attention)
    value = _joined_heads(model, match.value_scatter.inputs[1], f"{prefix}.value", attention)
    cos = sin = positions = None
    if match.rotary is not None:
        cos, sin, positions = match.rotary.inputs[1:4]
    seqlens, total, new = (_cache_length_input(model, name) for name in (SEQLENS_K, TOTAL, QUERY_SEQLENS))
    inputs = [
        query, key, value, match.key_scatter.inputs[0], match.value_scatter.inputs[0], seqlens, total, cos,
        sin, positions, None, None, None, None, None, None, new,
    ]  # fmt: skip
    fused = ir.node(
        "GroupQueryAttention",
        inputs,
        {
            "num_heads": spec.sizes["H"],
            "kv_num_heads": spec.sizes["G"],
            "scale": float_attribute(attention, "scale", spec.sizes["Hd"] ** -0.5),
            "softcap": float_attribute(attention, "softcap", 0.0),
            "do_rotary": int(match.rotary is not None),
            "local_window_size": match.window or -1,
        },
        domain=MICROSOFT,
        num_outputs=3,
        name=prefix,
    )
    model.graph.insert_before(attention, fused)
    _replace_output(model, attention, fused, spec)
    for scatter, present in ((match.key_scatter, fused.outputs[1]), (match.value_scatter, fused.outputs[2])):
        _take_over(model, scatter.outputs[0], present)
    model.opset_imports.setdefault(MICROSOFT, 1)


def _joined_heads(model: ir.Model, value: ir.Value | None, name: str, before: ir.Node) -> ir.Value:
    """[B, heads, S, Hd] -> [B, S, heads·Hd]: the tensor that was split into heads where there is one."""
    assert value is not None
    transpose = producer(value, "Transpose")
    if transpose is not None and permutation(transpose) == _BHSD:
        rows = transpose.inputs[0]
        assert rows is not None
        split = producer(rows, "Reshape")
        if split is not None and _splits_last_axis(split):
            assert split.inputs[0] is not None
            return split.inputs[0]
    else:
        back = ir.node("Transpose", [value], {"perm": _BHSD}, name=f"{name}.transpose")
        model.graph.insert_before(before, back)
        rows = back.outputs[0]
    shape = add_initializer(model, "gqa.joined_heads", np.array([0, 0, -1], np.int64))
    join = ir.node("Reshape", [rows, shape], name=f"{name}.reshape")
    model.graph.insert_before(before, join)
    return join.outputs[0]


def _splits_last_axis(reshape: ir.Node) -> bool:
    """Whether a Reshape makes [B, S, heads, Hd] of [B, S, heads·Hd]: four sizes, the first two kept."""
    sizes = constant_list(reshape.inputs[1])
    return (
        sizes is not None
        and len(sizes) == 4
        and sizes[:2] == [0, 0]
        and not int_attribute(reshape, "allowzero", 0)
    )


def _replace_output(model: ir.Model, attention: ir.Node, fused: ir.Node, spec: GraphSpec) -> None:
    """Readers of Attention's [B, H, S, Hd] get GroupQueryAttention's [B, S, H·Hd]."""
    transpose = only_consumer(attention.outputs[0], "Transpose")
    if transpose is not None and permutation(transpose) == _BHSD:
        join = only_consumer(transpose.outputs[0], "Reshape")
        sizes = None if join is None else constant_list(join.inputs[1])
        if join is not None and sizes is not None and len(sizes) == 3 and sizes[:2] == [0, 0]:
            ir.convenience.replace_all_uses_with(join.outputs[0], fused.outputs[0])
            return
    heads = [0, 0, spec.sizes["H"], spec.sizes["Hd"]]
    shape = add_initializer(model, "gqa.query_heads", np.array(heads, np.int64))
    split = ir.node("Reshape", [fused.outputs[0], shape], name=f"{fused.name}.split")
    back = ir.node("Transpose", [split.outputs[0]], {"perm": _BHSD}, name=f"{fused.name}.heads")
    model.graph.insert_after(fused, [split, back])
    ir.convenience.replace_all_uses_with(attention.outputs[0], back.outputs[0])


def _take_over(model: ir.Model, old: ir.Value, new: ir.Value) -> None:
    """Let `new` be the graph output that `old` was."""
    for index, output in enumerate(model.graph.outputs):
        if output is old:
            new.name, new.type, new.shape = old.name, old.type, old.shape
            old.name = f"{old.name}.replaced"
            model.graph.outputs[index] = new
    ir.convenience.replace_all_uses_with(old, new)


def _cache_length_input(model: ir.Model, name: str) -> ir.Value:
    """The graph input of that name, made on first use."""
    for value in model.graph.inputs:
        if value.name == name:
            return value
    shape = ir.Shape([]) if name == TOTAL else ir.Shape(["B"])
    value = ir.Value(name=name, type=ir.TensorType(ir.DataType.INT32), shape=shape)
    model.graph.inputs.append(value)
    return value
