"""StoredCheckpoint: a checkpoint's weights as a graph stores them, rounded to its formats and without dropped
layers.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from redraft.export.checkpoint.base import Checkpoint
from redraft.export.graph_spec import GraphSpec
from redraft.export.quantize import quantize_matrix

_LAYER = re.compile(r"layers\.(\d+)\.(.*)")
_MATRIX = re.compile(r"(q|k|v|o|gate|up|down)\.weight")


class StoredCheckpoint(Checkpoint):
    """Weights after the rounding of `spec.precision`, so that a reference of a 4-bit graph is a 4-bit model.

    A tied head becomes a head of its own, since its format may differ from the embedding's.
    """

    def __init__(self, checkpoint: Checkpoint, spec: GraphSpec) -> None:
        """`spec`: of a graph that was exported from `checkpoint`."""
        dropped = set(spec.extra.get("drop_layers", ()))
        self._kept = [i for i in range(checkpoint.config.num_layers) if i not in dropped]
        layers = tuple(checkpoint.config.layers[i] for i in self._kept)
        self.config = dataclasses.replace(checkpoint.config, layers=layers, tied_head=False)
        self.source = checkpoint.source
        self._checkpoint, self._precision = checkpoint, spec.precision

    def names(self) -> list[str]:
        """The canonical names, with `head.weight`."""
        return [*(name for name in self._checkpoint.names() if name != "head.weight"), "head.weight"]

    def load(self, name: str) -> NDArray[np.float32]:
        """One tensor, rounded and back to float32."""
        return self._rounded(name, self._checkpoint.load(self._source_name(name)))

    def load_rows(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Rows of a matrix: blocks never cross rows, so only these are rounded."""
        return self._rounded(name, self._checkpoint.load_rows(self._source_name(name), rows))

    def write_tokenizer(self, folder: Path) -> None:
        """The source's own tokenizer."""
        self._checkpoint.write_tokenizer(folder)

    def _source_name(self, name: str) -> str:
        if name == "head.weight" and self._checkpoint.config.tied_head:
            return "embed.weight"
        match = _LAYER.fullmatch(name)
        return f"layers.{self._kept[int(match[1])]}.{match[2]}" if match else name

    def _rounded(self, name: str, weight: NDArray[np.float32]) -> NDArray[np.float32]:
        form = self._format(name)
        if form in ("int4", "int8"):
            scales = np.float16 if self._precision["compute"] == "fp16" else np.float32
            return quantize_matrix(name, weight, 4 if form == "int4" else 8, scales).dequantize()
        if form == "fp16":
            return weight.astype(np.float16).astype(np.float32)
        if form == "bf16":
            import ml_dtypes

            return weight.astype(ml_dtypes.bfloat16).astype(np.float32)
        return weight

    def _format(self, name: str) -> str:
        if name == "embed.weight":
            return self._precision["embedding"]
        if name == "head.weight":
            return self._precision["head"]
        match = _LAYER.fullmatch(name)
        return self._precision["body"] if match and _MATRIX.fullmatch(match[2]) else "fp32"
