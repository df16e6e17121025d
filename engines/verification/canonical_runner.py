"""CanonicalRunner: a canonical graph as it is, on ONNX Runtime's CPU provider, nothing lowered or bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError
from redraft.engines.base import Call
from redraft.export.graph_spec import GRAPH_FILE, GraphSpec


class CanonicalRunner:
    """What an engine is compared with: masks and cache are plain arrays, fed and fetched at each call.

    The cache starts with junk in every slot, which no row may see.
    """

    def __init__(self, folder: Path, *, capacity: int, threads: int | None = None) -> None:
        """Load the graph in `folder`; InputFileError where ONNX Runtime cannot."""
        import onnxruntime as ort

        self.spec = GraphSpec.read(folder)
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads or 0
        try:
            self._session: Any = ort.InferenceSession(
                str(folder / GRAPH_FILE), options, ["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime raises its own classes, straight below Exception
            reason = " ".join(str(error).split())[:200]
            raise InputFileError(f"{folder / GRAPH_FILE} cannot be loaded: {reason}") from None
        self.capacity = capacity
        sizes = {**self.spec.sizes, "B": 1, "N": capacity}
        self._cache: dict[str, NDArray[Any]] = {
            spec.name: np.full(spec.shape(sizes), 3.25, spec.numpy_dtype)
            for spec in self.spec.inputs
            if spec.name.startswith("past_key_values.")
        }

    def run(self, call: Call) -> dict[str, NDArray[Any]]:
        """The outputs of one call, the cache's apart."""
        feeds: dict[str, NDArray[Any]] = {
            "input_ids": call.input_ids,
            "position_ids": call.position_ids,
            "write_pos": call.write_pos,
            "logit_rows": call.logit_rows,
            **self._cache,
        }
        slots = call.write_pos[:, None] + np.arange(call.input_ids.shape[1])
        for spec in self.spec.inputs:
            if spec.name == "attention_bias":
                feeds[spec.name] = self._bias(slots, None).astype(spec.numpy_dtype)
            elif spec.name == "attention_bias_local":
                feeds[spec.name] = self._bias(slots, self._window()).astype(spec.numpy_dtype)
        names = [spec.name for spec in self.spec.outputs]
        outputs = dict(zip(names, self._session.run(names, feeds), strict=True))
        for name in self._cache:
            self._cache[name] = outputs.pop(name.replace("past_key_values.", "present."))
        return outputs

    def read(self, layer: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """A layer's keys and values, each [B, G, N, Hd]."""
        return self._cache[f"past_key_values.{layer}.key"], self._cache[f"past_key_values.{layer}.value"]

    def _window(self) -> int:
        return next(window for window in self.spec.windows if window is not None)

    def _bias(self, slots: NDArray[np.int64], window: int | None) -> NDArray[np.float64]:
        """[B, 1, S, N]: 0 where a row sees a slot, the graph's finite mask value elsewhere."""
        keys = np.arange(self.capacity)
        visible = keys <= slots[:, :, None]
        if window is not None:
            visible &= keys > slots[:, :, None] - window
        return np.where(visible, 0.0, self.spec.mask_value)[:, None]
