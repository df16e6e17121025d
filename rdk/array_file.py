"""Reading and writing safetensors files of NumPy arrays, with one clear error for every damaged file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.digest import digest_bytes
from redraft._core.errors import InputFileError


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Write the arrays and the metadata strings to `path` (use it within `atomic_file`)."""
    from safetensors.numpy import save

    # `save_file` would report a full disk as its own error, without the system's number.
    path.write_bytes(
        save({name: np.ascontiguousarray(a) for name, a in arrays.items()}, metadata=dict(metadata))
    )


def read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """(arrays, metadata) of a safetensors file. InputFileError: missing, truncated or of another format."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
            return arrays, dict(file.metadata() or {})
    except FileNotFoundError as error:
        raise InputFileError(f"{path} does not exist") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise InputFileError(f"{path} is not a readable safetensors file ({error})") from error


def array_digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Hex SHA-256 over name, dtype, shape and bytes of every array, by ascending name."""
    parts = []
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        parts += [json.dumps([name, array.dtype.str, list(array.shape)]).encode(), array.tobytes()]
    return digest_bytes(*parts)
