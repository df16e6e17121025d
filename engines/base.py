"""Backend and Engine: the contract between a compiled graph and whoever runs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from redraft.export.graph_spec import GraphSpec

Outputs = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a backend works here; where not, the reason and what would mend it.

    CLI, errors and test skips use it.
    """

    ok: bool
    reason: str = ""
    hint: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """The shapes that an engine must take. All >= 1."""

    max_batch: int = 1  # B
    max_prefill: int = 512  # widest S of a prefill call
    max_decode: int = 16  # widest S of a decode or verify call
    capacity: int = 2048  # N


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How to run an engine. `threads` None: as many as the process may use cores."""

    threads: int | None = None


@dataclass(slots=True)
class Call:
    """One forward call. All arrays int64, C-contiguous.

    Query row s of batch row b is at cache slot `write_pos[b] + s` and sees the slots 0 .. write_pos[b] + s
    (causal), less what a layer's sliding window hides. Rows past a request's own tokens may be padding:
    they write slots that the next call overwrites.
    """

    input_ids: NDArray[np.int64]  # [B, S] target ids
    position_ids: NDArray[np.int64]  # [B, S]
    write_pos: NDArray[np.int64]  # [B]
    logit_rows: NDArray[np.int64]  # [B, R], 0 <= row < S


class KVCache(ABC):
    """Key/value buffers of one engine: B rows of N slots. Rolling back needs no call.

    The next `write_pos` says it all.
    """

    batch: int
    capacity: int

    @property
    @abstractmethod
    def num_bytes(self) -> int:
        """Bytes held."""

    @abstractmethod
    def read(self, layer: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Copies of a layer's keys and values, each [B, G, N, Hd]: for tests and checks, not for the loop."""


class Engine(ABC):
    """A loaded graph. One engine serves one thread at a time; its caches belong to it.

    Use as a context manager.
    """

    spec: GraphSpec
    backend: str

    @abstractmethod
    def allocate_cache(self, batch: int, capacity: int) -> KVCache:
        """Zeroed buffers for `batch` rows of `capacity` slots."""

    @abstractmethod
    def run(self, call: Call, cache: KVCache) -> Outputs:
        """Run once, writing the cache in place.

        Returns the graph's non-cache outputs by name (`logits` or `draft_logits` [B, R, T] float32;
        `hidden` [B, R, E] where exported). The arrays are views of reused buffers: valid until the next
        `run` of the same shape. RedraftError where a shape does not fit the specification or the capacity.
        """

    @abstractmethod
    def close(self) -> None:
        """Free everything. Idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did: goes into the manifest and on the screen."""

    backend: str
    backend_version: str
    files: tuple[str, ...]  # relative to the engine's folder
    seconds: float
    options: dict[str, Any] = field(default_factory=dict)
    passes: tuple[str, ...] = ()  # lowering passes that changed the graph


class Backend(ABC):
    """A registry entry. Heavy imports happen inside methods."""

    name: str

    @abstractmethod
    def availability(self) -> Availability:
        """Whether it works on this machine. Never raises."""

    def build_identity(self, profile: Profile) -> dict[str, Any]:
        """What else than graph and version changes what `build` writes: part of the engine's cache key.

        The default is the whole profile, for engines whose shapes are fixed when they are built.
        """
        return {"profile": asdict(profile)}

    @abstractmethod
    def build(self, graph: Path, output: Path, profile: Profile) -> BuildReport:
        """Compile the canonical graph in folder `graph` into the (existing, empty) folder `output`."""

    @abstractmethod
    def load(self, folder: Path, options: LoadOptions) -> Engine:
        """The engine that `build` wrote into `folder`."""
