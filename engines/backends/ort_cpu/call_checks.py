"""Checks of a call against the graph and the cache, once, at the engine's boundary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import RedraftError, UsageError
from redraft.engines.base import Call, KVCache
from redraft.export.graph_spec import GraphSpec

_FEW = 64

Form = tuple[Any, ...]
"""Shapes and dtypes of a call's arrays: calls of one form are checked, and bound, once."""


def call_form(call: Call) -> Form:
    """The form of a call."""
    ids, positions, slots, rows = call.input_ids, call.position_ids, call.write_pos, call.logit_rows
    return (
        ids.shape, positions.shape, slots.shape, rows.shape,
        ids.dtype.char, positions.dtype.char, slots.dtype.char, rows.dtype.char,
    )  # fmt: skip


def check_form(call: Call, cache: KVCache, spec: GraphSpec) -> dict[str, int]:
    """Sizes of B, S, R and N, where the call's arrays have the right dtypes and shapes.

    RedraftError names the input that does not.
    """
    owner = f"engine '{spec.role}' input"
    sizes = {"B": cache.batch, "N": cache.capacity}
    for tensor in spec.inputs:
        value = getattr(call, tensor.name, None)
        if value is None:
            continue
        tensor.check(value, sizes, owner=owner)
        if tensor.name == "input_ids":
            sizes["S"] = value.shape[1]
        elif tensor.name == "logit_rows":
            sizes["R"] = value.shape[1]
    if sizes["S"] < 1 or sizes["R"] < 1:
        raise RedraftError(
            f"{owner} 'input_ids': expected at least one token and one logit row, "
            f"got S={sizes['S']}, R={sizes['R']}"
        )
    return sizes


def index_limits(spec: GraphSpec) -> dict[str, int]:
    """Rows of the tables that a call's numbers index.

    As the build found them, else what the specification implies.
    """
    return {
        "input_ids": int(spec.extra.get("embedding_rows", spec.sizes["T"])),
        "position_ids": int(spec.extra.get("position_rows", spec.max_positions)),
    }


def check_values(call: Call, cache: KVCache, spec: GraphSpec, limits: Mapping[str, int]) -> int:
    """The largest number of used slots after the call.

    Refuses numbers that ONNX Runtime would read past a buffer with, or answer with silence.
    """
    num_tokens = call.input_ids.shape[1]
    first, last = _extremes(call.write_pos)
    used: int = last + num_tokens
    if first < 0:
        raise RedraftError(f"engine '{spec.role}' input 'write_pos': expected slots from 0, got {first}")
    if used > cache.capacity:
        raise RedraftError(
            f"engine '{spec.role}' input 'write_pos': {num_tokens} tokens from slot {last} "
            f"do not fit into a cache of {cache.capacity} slots",
            hint="shorten the prompt or raise the cache capacity",
        )
    for name, limit in (*limits.items(), ("logit_rows", num_tokens)):
        low, high = _extremes(getattr(call, name))
        if low < 0 or high >= limit:
            wrong = low if low < 0 else high
            raise RedraftError(
                f"engine '{spec.role}' input '{name}': expected values in [0, {limit}), got {wrong}"
            )
    return used


def _extremes(values: NDArray[np.int64]) -> tuple[int, int]:
    """Least and largest; plain Python is several times faster for the few numbers of a decode call."""
    if values.size > _FEW:
        return int(values.min()), int(values.max())
    numbers: list[int] = values.ravel().tolist()
    return min(numbers), max(numbers)


def check_cache_size(batch: int, capacity: int) -> None:
    """UsageError below one row or one slot."""
    if batch < 1 or capacity < 1:
        raise UsageError(f"cache: expected at least 1 row and 1 slot, got {batch} and {capacity}")
