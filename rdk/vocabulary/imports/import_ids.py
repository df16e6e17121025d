"""Kept ids from the files of other programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError
from redraft.rdk.array_file import read_arrays

from .draft_to_target import target_ids_from_d2t, target_ids_from_t2d
from .torch_archive import read_torch_archive


def import_ids(path: Path, rows: int) -> NDArray[np.int64]:
    """[D] int64: the target ids, sorted, that a file keeps of a target with `rows` logit rows.

    Read are: `.pt` or `.pth` with a list or tensor of ids, as FR-Spec and SGLang write them
    (`freq_32768.pt`; absolute ids in any order), or with `d2t` / `t2d`; `.safetensors` with `vocab_map`
    (TensorRT Edge-LLM; absolute, sorted) or with `d2t` / `t2d` (EAGLE-3; see `draft_to_target`).

    Raises InputFileError (missing, damaged, ids twice or out of range) and UnsupportedError (d2t that can
    be read in two ways).
    """
    content = read_torch_archive(path) if path.suffix in (".pt", ".pth") else read_arrays(path)[0]
    try:
        return _ids(content, rows)
    except InputFileError as error:
        raise InputFileError(f"{path}: {error.message}", hint=error.hint) from error


def _ids(content: Any, rows: int) -> NDArray[np.int64]:
    if not isinstance(content, Mapping):
        return _absolute(_as_array(content), rows)
    arrays = {name: _as_array(content[name]) for name in ("vocab_map", "d2t", "t2d") if name in content}
    if "vocab_map" in arrays:
        ids = _absolute(arrays["vocab_map"], rows)
        if not np.array_equal(ids, arrays["vocab_map"]):
            raise InputFileError("the ids of vocab_map are not sorted")
        return ids
    if "d2t" in arrays:
        return target_ids_from_d2t(arrays["d2t"], arrays.get("t2d"), rows)
    if "t2d" in arrays:
        return target_ids_from_t2d(arrays["t2d"], rows)
    raise InputFileError(
        f"expected vocab_map, d2t or t2d, found {', '.join(sorted(map(str, content))[:5]) or 'nothing'}"
    )


def _absolute(values: NDArray[Any], rows: int) -> NDArray[np.int64]:
    """The ids, sorted. InputFileError unless they are distinct integers in [0, rows)."""
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise InputFileError(f"expected a list of target ids, got {values.dtype} {list(values.shape)}")
    ids = np.sort(values.astype(np.int64))
    if ids[0] < 0 or ids[-1] >= rows:
        outside = int(ids[0] if ids[0] < 0 else ids[-1])
        raise InputFileError(f"id {outside} is outside the target's {rows} rows")
    if (np.diff(ids) == 0).any():
        twice = int(ids[:-1][np.diff(ids) == 0][0])
        raise InputFileError(
            f"id {twice} is listed twice",
            hint="a list of offsets (d2t) must come under that name, so that it can be told from ids",
        )
    return ids


def _as_array(value: Any) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError as error:
        raise InputFileError("expected a list of target ids, got a nested or mixed list") from error
