"""The TensorSpecs of a canonical graph, from its configuration."""

from __future__ import annotations

from collections.abc import Sequence

from redraft._core.errors import UnsupportedError
from redraft._core.tensor_spec import TensorSpec
from redraft.export.config import DecoderConfig
from redraft.export.precision import Precision

COMPUTE_DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
"""Precision.compute -> TensorSpec dtype."""

CACHE_AXES = ("B", "G", "N", "Hd")


def input_specs(config: DecoderConfig, precision: Precision, layers: Sequence[int]) -> tuple[TensorSpec, ...]:
    """Inputs of a graph that keeps `layers`, in order; `attention_bias_local` only where one of them slides.

    UnsupportedError where windows differ.
    """
    dtype = COMPUTE_DTYPES[precision.compute]
    windows = {config.layers[layer].window for layer in layers} - {None}
    if len(windows) > 1:
        raise UnsupportedError(
            f"sliding windows of different sizes in one model ({sorted(w for w in windows if w)})"
        )
    specs = [
        TensorSpec("input_ids", "int64", ("B", "S")),
        TensorSpec("position_ids", "int64", ("B", "S")),
        TensorSpec("write_pos", "int64", ("B",)),
        TensorSpec("logit_rows", "int64", ("B", "R")),
        TensorSpec("attention_bias", dtype, ("B", 1, "S", "N")),
    ]
    if windows:
        specs.append(TensorSpec("attention_bias_local", dtype, ("B", 1, "S", "N")))
    for index in range(len(layers)):
        specs.append(TensorSpec(f"past_key_values.{index}.key", dtype, CACHE_AXES))
        specs.append(TensorSpec(f"past_key_values.{index}.value", dtype, CACHE_AXES))
    return tuple(specs)


def present_specs(precision: Precision, num_layers: int) -> tuple[TensorSpec, ...]:
    """The cache outputs, in graph order."""
    dtype = COMPUTE_DTYPES[precision.compute]
    return tuple(
        TensorSpec(f"present.{index}.{part}", dtype, CACHE_AXES)
        for index in range(num_layers)
        for part in ("key", "value")
    )


def model_sizes(config: DecoderConfig, num_layers: int) -> dict[str, int]:
    """The axis letters that a model fixes."""
    return {
        "T": config.head_rows,
        "E": config.hidden_size,
        "L": num_layers,
        "H": config.num_heads,
        "G": config.num_kv_heads,
        "Hd": config.head_size,
    }
