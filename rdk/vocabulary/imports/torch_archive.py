"""Reading tensors and lists from a `.pt` file without torch, and without running anything that it holds.

`torch.save` writes a zip archive with one pickle. Pickles can call any function, so this unpickler knows
only how torch rebuilds a tensor from its bytes, and refuses every other name.
"""

from __future__ import annotations

import math
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError

_STORAGES: dict[str, str] = {
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
    "BoolStorage": "?",
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
}
_LIMIT = 1 << 28
"""Most bytes of a pickle or of a tensor: far more than any vocabulary needs."""


class _Storage(NamedTuple):
    dtype: str


def read_torch_archive(path: Path) -> Any:
    """The object that `torch.save` wrote: NumPy arrays for tensors, lists, tuples, dicts, numbers, strings.

    Raises InputFileError: missing, not a zip archive (the format before torch 1.6), damaged, or holding
    anything else.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = [n for n in archive.namelist() if n.endswith("/data.pkl")]
            if len(names) != 1:
                raise InputFileError(f"{path} is a zip archive, but not one that torch.save wrote")
            folder = names[0].removesuffix("data.pkl")
            _check_size(archive.getinfo(names[0]))
            with archive.open(names[0]) as file:
                return _Reader(file, archive, folder).load()
    except FileNotFoundError as error:
        raise InputFileError(f"{path} does not exist") from error
    except InputFileError:
        raise
    except zipfile.BadZipFile as error:
        raise InputFileError(
            f"{path} is not a zip archive of torch.save", hint="save it again with torch 1.6 or newer"
        ) from error
    except Exception as error:  # a damaged pickle can fail in any way
        raise InputFileError(f"{path} is damaged or holds more than tensors and lists ({error})") from error


class _Reader(pickle.Unpickler):
    def __init__(self, file: Any, archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(file)
        self._archive, self._folder = archive, folder

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch._utils" and name == "_rebuild_tensor_v2":
            return _rebuild_tensor
        if module == "torch" and name in _STORAGES:
            return _Storage(_STORAGES[name])
        if module == "collections" and name == "OrderedDict":
            return OrderedDict
        raise InputFileError(
            f"it asks for {module}.{name}, which only a program that trusts the file may load"
        )

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        kind, storage, key, _, num = pid
        if kind != "storage" or not isinstance(storage, _Storage) or not str(key).isdigit():
            raise InputFileError("it refers to something that is not a tensor's storage")
        member = self._archive.getinfo(f"{self._folder}data/{key}")
        _check_size(member)
        values = np.frombuffer(self._archive.read(member), dtype=storage.dtype)
        if values.size < num:
            raise InputFileError("a tensor's storage is shorter than the file says")
        return values


def _check_size(member: zipfile.ZipInfo) -> None:
    if member.file_size > _LIMIT:
        raise InputFileError(f"it holds {member.file_size} bytes in one part, more than any vocabulary needs")


def _rebuild_tensor(
    storage: NDArray[Any], offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any
) -> NDArray[Any]:
    """The view of `storage` that a tensor is, checked to stay inside it, as a copy."""
    ints = [offset, *size, *stride]
    if not all(isinstance(i, int) and i >= 0 for i in ints) or len(size) != len(stride):
        raise InputFileError("a tensor has a shape that makes no sense")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if 0 in size:
        return np.zeros(size, dtype=storage.dtype)
    if last >= storage.size or math.prod(size) > storage.size:
        raise InputFileError("a tensor reaches beyond its storage")
    strides = [step * storage.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(storage[offset:], size, strides).copy()
