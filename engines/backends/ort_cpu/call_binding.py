"""One I/O binding per call shape: inputs written in place, outputs and cache bound once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import RedraftError
from redraft.engines.base import Call, Outputs
from redraft.export.graph_spec import GraphSpec

from .attention_bias import write_bias
from .lowered_inputs import BIAS_INPUTS, QUERY_SEQLENS, SEQLENS_K, TOTAL_SEQUENCE_LENGTH


class CallBinding:
    """Buffers of a call of B rows, S tokens and R logit rows against one cache.

    `inputs` and `outputs` are NumPy arrays that ONNX Runtime reads and writes directly; the cache is bound
    as past and as present, so that nothing of it is ever copied.
    """

    def __init__(
        self, session: Any, spec: GraphSpec, arrays: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]
    ) -> None:
        self._io = session.io_binding()
        self._session = session._sess
        self._spec = spec
        self._num_tokens = sizes["S"]
        bound = {**spec.sizes, **sizes}
        wanted = {node.name for node in session.get_inputs()}
        self.inputs = _input_buffers(spec, wanted, bound)
        self._call_inputs = [name for name in _CALL_FIELDS if name in self.inputs]
        self._biases = [name for name in BIAS_INPUTS if name in self.inputs]
        outputs = {
            tensor.name: np.empty(tensor.shape(bound), tensor.numpy_dtype)
            for tensor in spec.outputs
            if not tensor.name.startswith("present.")
        }
        self.outputs: Outputs = outputs
        self._caches = arrays
        for name, array in {**self.inputs, **arrays}.items():
            if name in wanted:
                self._io.bind_input(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        for name, array in outputs.items():
            self._io.bind_output(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        for name, array in arrays.items():
            present = name.replace("past_key_values.", "present.")
            self._io.bind_output(present, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        self._binding = self._io._iobinding

    def run(self, call: Call, used: int) -> Outputs:
        """Copy the call's few numbers in, run, and return the output buffers.

        `used` is the largest number of used slots after the call.
        """
        inputs = self.inputs
        for name in self._call_inputs:
            np.copyto(inputs[name], getattr(call, name))
        if SEQLENS_K in inputs:
            np.add(call.write_pos, self._num_tokens - 1, out=inputs[SEQLENS_K], casting="unsafe")
            inputs[TOTAL_SEQUENCE_LENGTH][...] = used
        for name in self._biases:
            write_bias(inputs[name], name, call.write_pos, self._spec)
        try:
            self._session.run_with_iobinding(self._binding, None)
        except Exception as error:  # onnxruntime raises its own classes, straight below Exception
            raise RedraftError(
                f"engine '{self._spec.role}': ONNX Runtime failed: {' '.join(str(error).split())}"
            ) from error
        return self.outputs


_CALL_FIELDS = ("input_ids", "position_ids", "write_pos", "logit_rows")


def _input_buffers(spec: GraphSpec, wanted: set[str], sizes: Mapping[str, int]) -> dict[str, NDArray[Any]]:
    buffers: dict[str, NDArray[Any]] = {}
    for tensor in spec.inputs:
        if tensor.name in wanted and not tensor.name.startswith("past_key_values."):
            buffers[tensor.name] = np.zeros(tensor.shape(sizes), tensor.numpy_dtype)
    if SEQLENS_K in wanted:
        buffers[SEQLENS_K] = np.zeros(sizes["B"], np.int32)
        buffers[TOTAL_SEQUENCE_LENGTH] = np.zeros((), np.int32)
        buffers[QUERY_SEQLENS] = np.full(sizes["B"], sizes["S"], np.int32)
    return buffers
