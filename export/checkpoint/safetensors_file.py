"""SafetensorsFile: tensors of one .safetensors file as float32, read one at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError

_DTYPES: dict[str, type[np.generic]] = {
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.uint16,
}
_MAX_HEADER = 100_000_000


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where a tensor lies: `begin` counts from the start of the file, in bytes."""

    dtype: str
    shape: tuple[int, ...]
    begin: int


class SafetensorsFile:
    """The header is read and checked against the file's size when it is opened; data are read when asked for.

    Reads go to memory of their own and not through a map of the file, so that a process that streams a
    checkpoint does not appear to hold all of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.tensors = _read_header(path)
        except OSError as error:
            raise InputFileError(f"cannot read {path}: {error.strerror or error}") from error

    def read(self, name: str) -> NDArray[np.float32]:
        """The whole tensor."""
        stored = self.tensors[name]
        count = int(np.prod(stored.shape, dtype=np.int64))
        raw = np.fromfile(self.path, dtype=self._dtype(name), count=count, offset=stored.begin)
        if raw.size != count:
            raise InputFileError(f"{self.path} is truncated: tensor '{name}' ends outside the file")
        return _as_float32(raw.reshape(stored.shape), stored.dtype)

    def read_rows(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Rows of the tensor's first axis."""
        stored = self.tensors[name]
        data = np.memmap(
            self.path, dtype=self._dtype(name), mode="r", offset=stored.begin, shape=stored.shape
        )
        return _as_float32(np.asarray(data[rows]), stored.dtype)

    def _dtype(self, name: str) -> np.dtype[np.generic]:
        dtype = self.tensors[name].dtype
        if dtype not in _DTYPES:
            raise InputFileError(
                f"{self.path}: tensor '{name}': expected dtype F32, F16 or BF16, got {dtype}",
                hint="quantised source checkpoints are not supported: use the 16-bit checkpoint",
            )
        return np.dtype(_DTYPES[dtype])


def _as_float32(raw: NDArray[np.generic], dtype: str) -> NDArray[np.float32]:
    if dtype != "BF16":
        return raw.astype(np.float32, copy=False)
    wide = raw.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)


def _read_header(path: Path) -> dict[str, StoredTensor]:
    size = path.stat().st_size
    damaged = InputFileError(f"{path} is not a safetensors file, or its header is damaged")
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > _MAX_HEADER:
            raise damaged
        if 8 + length > size:
            raise InputFileError(f"{path} is truncated: its header ends outside the file")
        try:
            header = json.loads(file.read(length))
            header.pop("__metadata__", None)
            tensors = {
                name: StoredTensor(
                    entry["dtype"], tuple(entry["shape"]), 8 + length + entry["data_offsets"][0]
                )
                for name, entry in header.items()
            }
            end = max((8 + length + entry["data_offsets"][1] for entry in header.values()), default=0)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise damaged from error
    if end > size:
        raise InputFileError(
            f"{path} is truncated: expected {end} bytes, got {size}", hint="download it again"
        )
    return tensors
