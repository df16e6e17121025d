"""Calls for engines over tiny graphs, and both ways to run a graph: as it is, and lowered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft.engines import Call, LoadOptions, Profile
from redraft.engines.backends.ort_cpu import OrtCpuBackend, OrtCpuEngine


def build_lowered(graph: Path, folder: Path) -> Path:
    """The engine folder that ort-cpu builds of the graph."""
    folder.mkdir(parents=True)
    OrtCpuBackend().build(graph, folder, Profile())
    return folder


def load(folder: Path, threads: int = 1) -> OrtCpuEngine:
    """The engine in a folder, or a canonical graph as it is."""
    return OrtCpuBackend().load(folder, LoadOptions(threads=threads))


def make_call(ids: Any, write_pos: Any) -> Call:
    """A call that asks for the logits of every row; positions follow the slots."""
    ids, write_pos = np.asarray(ids, np.int64), np.asarray(write_pos, np.int64)
    steps = np.arange(ids.shape[1])
    return Call(ids, write_pos[:, None] + steps, write_pos, np.tile(steps, (len(ids), 1)))


def run_script(
    engine: OrtCpuEngine, script: list[tuple[NDArray[np.int64], NDArray[np.int64]]], capacity: int
) -> list[dict[str, NDArray[Any]]]:
    """Outputs of the calls (ids, write_pos) on one new cache; the cache's used content is the last entry."""
    cache = engine.allocate_cache(len(script[0][0]), capacity)
    results = []
    for ids, write_pos in script:
        results.append(
            {name: value.copy() for name, value in engine.run(make_call(ids, write_pos), cache).items()}
        )
    used = int((script[-1][1] + script[-1][0].shape[1]).min())
    layers = [cache.read(layer) for layer in range(engine.spec.num_layers)]
    results.append(
        {f"{i}.{part}": pair[part][:, :, :used] for i, pair in enumerate(layers) for part in (0, 1)}
    )
    return results


def random_script(
    seed: int, batch: int, widths: list[int], rows: int, capacity: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Calls of these widths, each row rolled back by a random number of its new tokens between them."""
    random = np.random.default_rng(seed)
    write_pos = np.zeros(batch, np.int64)
    script = []
    for width in widths:
        assert int(write_pos.max()) + width <= capacity
        script.append((random.integers(0, rows, (batch, width)), write_pos.copy()))
        write_pos += width - random.integers(0, width, batch)
    return script
