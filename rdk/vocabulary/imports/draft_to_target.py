"""EAGLE-3's `d2t`: offsets or absolute ids, decided by proof."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError, UnsupportedError

_HINT = "give the file that holds t2d beside d2t, or a list of absolute target ids"


def target_ids_from_d2t(
    d2t: NDArray[Any],  # [D]
    t2d: NDArray[Any] | None,  # [T] of 0 and 1
    rows: int,
) -> NDArray[np.int64]:
    """[D] int64: the target id of each draft row, sorted.

    EAGLE-3 stores offsets (target id = i + d2t[i]); other programs store the ids themselves under the same
    name. A reading counts only if its ids are strictly increasing, inside [0, rows), and, where t2d is
    there, exactly its members.

    Raises UnsupportedError where both readings or none count; InputFileError where d2t or t2d is no such
    array.
    """
    values = _integers(d2t, "d2t")
    members = None if t2d is None else target_ids_from_t2d(t2d, rows)
    readings = {"offsets": values + np.arange(values.size), "absolute ids": values}
    possible = {name: ids for name, ids in readings.items() if _counts(ids, members, rows)}
    if len(possible) == 2 and values.size > 1:
        raise UnsupportedError(
            f"d2t can be read as offsets and as absolute ids: both are increasing ids below {rows}",
            hint=_HINT,
        )
    if not possible:
        beside = "" if members is None else " and the members of t2d"
        raise UnsupportedError(
            f"d2t is neither offsets nor absolute ids: no reading gives increasing ids below {rows}{beside}",
            hint=_HINT,
        )
    return next(iter(possible.values()))


def target_ids_from_t2d(t2d: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """[D] int64: the members of a mask over target ids. InputFileError unless it is [<= rows] of 0 and 1."""
    if t2d.ndim != 1 or t2d.size > rows or not np.isin(t2d, (0, 1)).all():
        raise InputFileError(
            f"t2d: expected a mask of at most {rows} entries, got {t2d.dtype} {list(t2d.shape)}"
        )
    return np.flatnonzero(t2d)


def _counts(ids: NDArray[np.int64], members: NDArray[np.int64] | None, rows: int) -> bool:
    increasing = bool((np.diff(ids) > 0).all()) and ids[0] >= 0 and ids[-1] < rows
    return increasing and (members is None or np.array_equal(ids, members))


def _integers(values: NDArray[Any], name: str) -> NDArray[np.int64]:
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise InputFileError(f"{name}: expected integers [D], got {values.dtype} {list(values.shape)}")
    return values.astype(np.int64)
