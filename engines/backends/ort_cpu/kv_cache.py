"""Key/value buffers of an ONNX Runtime engine: NumPy memory, bound as past and as present."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft.engines.base import KVCache
from redraft.export.graph_spec import GraphSpec

from .call_binding import CallBinding
from .call_checks import Form

_MAX_BINDINGS = 48


class OrtCpuCache(KVCache):
    """L pairs of zeroed [B, G, N, Hd] arrays, with the I/O bindings of the call shapes seen so far."""

    def __init__(self, spec: GraphSpec, batch: int, capacity: int) -> None:
        self.batch = batch
        self.capacity = capacity
        self.arrays: dict[str, NDArray[Any]] = {}  # input name -> [B, G, N, Hd]
        for tensor in spec.inputs:
            if tensor.name.startswith("past_key_values."):
                shape = tensor.shape({**spec.sizes, "B": batch, "N": capacity})
                self.arrays[tensor.name] = np.zeros(shape, tensor.numpy_dtype)
        self._bindings: OrderedDict[Form, CallBinding] = OrderedDict()

    @property
    def num_bytes(self) -> int:
        """Bytes of all keys and values."""
        return sum(array.nbytes for array in self.arrays.values())

    def read(self, layer: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Copies of a layer's keys and values, each [B, G, N, Hd]."""
        return (
            self.arrays[f"past_key_values.{layer}.key"].copy(),
            self.arrays[f"past_key_values.{layer}.value"].copy(),
        )

    def find_binding(self, form: Form) -> CallBinding | None:
        """The binding of calls of this form, where there is one."""
        binding = self._bindings.get(form)
        if binding is not None:
            self._bindings.move_to_end(form)
        return binding

    def keep_binding(self, form: Form, binding: CallBinding) -> None:
        """Remember a binding; the longest unused one goes when there are many."""
        self._bindings[form] = binding
        if len(self._bindings) > _MAX_BINDINGS:
            self._bindings.popitem(last=False)

    def drop_bindings(self) -> None:
        """Let go of the session's memory: the cache outlives its engine only as plain arrays."""
        self._bindings.clear()
