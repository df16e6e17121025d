"""OrtCpuEngine: a graph in an ONNX Runtime session, called through preallocated bindings."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import Any

from redraft._core.errors import MismatchError, RedraftError
from redraft.engines.base import Call, Engine, KVCache, LoadOptions, Outputs
from redraft.export.graph_spec import GRAPH_FILE, GraphSpec

from .call_binding import CallBinding
from .call_checks import call_form, check_cache_size, check_form, check_values, index_limits
from .free_memory import release_free_memory
from .kv_cache import OrtCpuCache
from .session import open_session, resolve_threads


class OrtCpuEngine(Engine):
    """Runs a lowered graph, or a canonical one as it is: it supplies the inputs that the graph has.

    One call at a time: a second thread that calls `run` waits.
    """

    backend = "ort-cpu"

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        self.spec = GraphSpec.read(folder)
        self.threads = resolve_threads(options.threads)
        self._session: Any = open_session(folder / GRAPH_FILE, self.threads)
        self._limits = index_limits(self.spec)
        self._caches: weakref.WeakSet[OrtCpuCache] = weakref.WeakSet()
        self._lock = threading.Lock()
        _check_outputs(self._session, self.spec)

    def allocate_cache(self, batch: int, capacity: int) -> OrtCpuCache:
        """Zeroed buffers for `batch` rows of `capacity` slots; UsageError below one of either."""
        check_cache_size(batch, capacity)
        self._require_open()
        cache = OrtCpuCache(self.spec, batch, capacity)
        self._caches.add(cache)
        return cache

    def run(self, call: Call, cache: KVCache) -> Outputs:
        """Run once, writing the cache in place; see `Engine.run`."""
        session = self._require_open()
        if not isinstance(cache, OrtCpuCache) or cache not in self._caches:
            raise MismatchError(f"engine '{self.spec.role}': the cache belongs to another engine")
        form = call_form(call)
        with self._lock:
            binding = cache.find_binding(form)
            if binding is None:
                sizes = check_form(call, cache, self.spec)
                binding = CallBinding(session, self.spec, cache.arrays, sizes)
                cache.keep_binding(form, binding)
            return binding.run(call, check_values(call, cache, self.spec, self._limits))

    def close(self) -> None:
        """Free the session and every binding on it. Idempotent."""
        with self._lock:
            for cache in self._caches:
                cache.drop_bindings()
            self._caches.clear()
            self._session = None
        release_free_memory()

    def _require_open(self) -> Any:
        session = self._session
        if session is None:
            raise RedraftError(f"engine '{self.spec.role}' is closed")
        return session


def _check_outputs(session: Any, spec: GraphSpec) -> None:
    found = {node.name for node in session.get_outputs()}
    missing = [tensor.name for tensor in spec.outputs if tensor.name not in found]
    if missing:
        raise MismatchError(
            f"engine '{spec.role}': the graph lacks the outputs {', '.join(missing)} of its specification",
            hint="build the engine again with `redraft build`",
        )
