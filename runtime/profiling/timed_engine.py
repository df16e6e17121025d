"""TimedEngine: an engine that adds up the time of its calls."""

from __future__ import annotations

from time import perf_counter

from redraft.engines.base import Call, Engine, KVCache, Outputs


class TimedEngine(Engine):
    """Passes every call on. `seconds` and `calls` are since the last `reset`."""

    def __init__(self, engine: Engine) -> None:
        """`engine` stays the owner of its caches."""
        self.engine, self.spec, self.backend = engine, engine.spec, engine.backend
        self.seconds, self.calls = 0.0, 0

    def reset(self) -> None:
        """Count from here."""
        self.seconds, self.calls = 0.0, 0

    def allocate_cache(self, batch: int, capacity: int) -> KVCache:
        """The engine's own."""
        return self.engine.allocate_cache(batch, capacity)

    def run(self, call: Call, cache: KVCache) -> Outputs:
        """Run and add the time."""
        start = perf_counter()
        outputs = self.engine.run(call, cache)
        self.seconds += perf_counter() - start
        self.calls += 1
        return outputs

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()
