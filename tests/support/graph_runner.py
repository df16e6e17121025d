"""GraphRunner: the canonical graph, unlowered, on ONNX Runtime's CPU provider."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from redraft.export.graph_spec import GRAPH_FILE, GraphSpec


class GraphRunner:
    """Holds one cache of `capacity` slots for `batch` rows; starts from junk, which no row may see."""

    def __init__(self, folder: Path, *, batch: int = 1, capacity: int = 48) -> None:
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        self.spec = GraphSpec.read(folder)
        self.session = ort.InferenceSession(str(folder / GRAPH_FILE), options, ["CPUExecutionProvider"])
        self.capacity = capacity
        sizes = {**self.spec.sizes, "B": batch, "N": capacity}
        self.cache = {
            spec.name: np.full(spec.shape(sizes), 7.5, spec.numpy_dtype)
            for spec in self.spec.inputs
            if spec.name.startswith("past_key_values.")
        }

    def run(
        self, ids: NDArray[Any], write_pos: NDArray[Any] | list[int], rows: NDArray[Any] | None = None
    ) -> dict[str, NDArray[Any]]:
        """All outputs but the cache for ids [B, S] at slots write_pos[b] + s; `rows` [B, R], default all."""
        batch, width = ids.shape
        start = np.asarray(write_pos, dtype=np.int64)
        slots = start[:, None] + np.arange(width)
        feeds: dict[str, NDArray[Any]] = {
            "input_ids": ids.astype(np.int64),
            "position_ids": slots,
            "write_pos": start,
            "logit_rows": np.tile(np.arange(width), (batch, 1)) if rows is None else rows.astype(np.int64),
            **self.cache,
        }
        window = next((window for window in self.spec.windows if window is not None), None)
        for spec in self.spec.inputs:
            if spec.name.startswith("attention_bias"):
                limit = window if spec.name.endswith("_local") else None
                feeds[spec.name] = self._bias(slots, limit).astype(spec.numpy_dtype)
        names = [spec.name for spec in self.spec.outputs]
        outputs = dict(zip(names, self.session.run(names, feeds), strict=True))
        self.cache = {name: outputs.pop(name.replace("past_key_values", "present")) for name in self.cache}
        return outputs

    def _bias(self, slots: NDArray[np.int64], window: int | None) -> NDArray[np.float64]:
        keys = np.arange(self.capacity)
        visible = keys <= slots[:, :, None]
        if window is not None:
            visible &= keys > slots[:, :, None] - window
        return np.where(visible, 0.0, self.spec.mask_value)[:, None]
