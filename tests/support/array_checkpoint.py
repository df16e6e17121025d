"""ArrayCheckpoint: a Checkpoint whose tensors are arrays in memory, random ones by default."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError
from redraft.export.checkpoint.base import BlockQuantized, Checkpoint, Source
from redraft.export.config import DecoderConfig, LayerConfig, RopeConfig, tensor_shapes


def tiny_config(**changes: object) -> DecoderConfig:
    """A two-layer Llama-like description whose matrices have whole blocks of 32; `changes` replace fields."""
    fields: dict[str, object] = {
        "family": "llama",
        "head_rows": 80,
        "hidden_size": 64,
        "num_heads": 4,
        "num_kv_heads": 2,
        "head_size": 16,
        "intermediate_size": 96,
        "layers": (LayerConfig(None, RopeConfig(10000.0)), LayerConfig(None, RopeConfig(10000.0))),
        "norm_eps": 1e-5,
        "activation": "silu",
        "attention_scale": 0.25,
        "max_positions": 64,
        "tied_head": False,
    }
    return DecoderConfig(**{**fields, **changes})  # type: ignore[arg-type]


class ArrayCheckpoint(Checkpoint):
    """Tensors by canonical name; `stored` are those that a quantised file would hold as blocks."""

    def __init__(
        self,
        config: DecoderConfig,
        arrays: dict[str, NDArray[np.float32]],
        *,
        stored: dict[str, BlockQuantized] | None = None,
    ) -> None:
        self.config = config
        self.arrays = arrays
        self.stored = stored or {}
        bits = max((blocks.bits for blocks in self.stored.values()), default=None)
        self.source = Source(
            "arrays", None, f"q{bits}" if bits else "float32", "CC0-1.0", quantized_bits=bits
        )

    @staticmethod
    def random(config: DecoderConfig, seed: int = 0) -> ArrayCheckpoint:
        """Random weights; norms around one."""
        rng = np.random.default_rng(seed)
        arrays: dict[str, NDArray[np.float32]] = {}
        for name, shape in tensor_shapes(config).items():
            values = rng.standard_normal(shape) * 0.15
            arrays[name] = (values + 1 if "norm" in name else values).astype(np.float32)
        return ArrayCheckpoint(config, arrays)

    def names(self) -> list[str]:
        return list(self.arrays)

    def load(self, name: str) -> NDArray[np.float32]:
        if name not in self.arrays:
            raise InputFileError(f"no tensor '{name}'")
        return self.arrays[name]

    def load_quantized(self, name: str) -> BlockQuantized | None:
        return self.stored.get(name)

    def write_tokenizer(self, folder: Path) -> None:
        raise InputFileError("this checkpoint has no tokenizer")
