"""The engine cache: built engines by a key of everything that can change them."""

from .engine_key import engine_key, graph_digest
from .engine_store import BuiltEngine, CachedEngine, EngineStore, build_cached, default_store

__all__ = [
    "BuiltEngine",
    "CachedEngine",
    "EngineStore",
    "build_cached",
    "default_store",
    "engine_key",
    "graph_digest",
]
