"""GgufFile: the metadata and tensors of one GGUF file (versions 2 and 3, little-endian), mapped into memory.

The gguf package's reader makes several objects a token, which takes many seconds for 262,144 tokens; this one
reads the metadata in one pass. Dequantisation is the package's.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError, UnsupportedError

_SCALARS: dict[int, str] = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9
_MAGIC = b"GGUF"
_ROWS = 8192
"""Rows dequantised at a time, so that the temporaries stay small."""


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """A stored tensor: shape [out, in], the type's name (`Q4_1`, `F32`, …), its bytes [out, bytes a row]."""

    name: str
    shape: tuple[int, ...]
    type_name: str
    data: NDArray[np.uint8]


class _Cursor:
    """Reads little-endian values from mapped bytes; struct.error or IndexError where they end."""

    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 0

    def scalar(self, code: str) -> Any:
        value = struct.unpack_from(code, self.data, self.at)[0]
        self.at += struct.calcsize(code)
        return value

    def string(self) -> str:
        length = self.scalar("<Q")
        end = self.at + length
        if end > len(self.data):
            raise IndexError(end)
        value = bytes(self.data[self.at : end]).decode("utf-8", errors="replace")
        self.at = end
        return value

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.scalar(_SCALARS[kind])
        inner, count = self.scalar("<I"), self.scalar("<Q")
        if inner == _STRING:
            return [self.string() for _ in range(count)]
        array = np.frombuffer(self.data, np.dtype(_SCALARS[inner]), count, self.at)
        self.at += array.nbytes
        return array.tolist()


class GgufFile:
    """`metadata`: key -> value (arrays are lists); `tensors`: name -> GgufTensor.

    InputFileError: not a GGUF file, truncated or damaged. UnsupportedError: an old version, a big-endian or a
    split file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            mapped = np.memmap(path, dtype=np.uint8, mode="r")
        except (OSError, ValueError) as error:
            raise InputFileError(
                f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is empty'}"
            ) from error
        if bytes(mapped[:4]) != _MAGIC:
            raise InputFileError(f"{path} is not a GGUF file")
        try:
            self.metadata, self.tensors = self._parse(mapped)
        except (struct.error, IndexError, KeyError, ValueError, OverflowError, MemoryError) as error:
            raise InputFileError(f"{path} is truncated or damaged", hint="download it again") from error

    def read(self, name: str) -> NDArray[np.float32]:
        """The tensor as float32, dequantised some rows at a time."""
        tensor = self.tensors[name]
        if len(tensor.shape) < 2:
            return _dequantize(tensor.data, tensor.type_name).reshape(tensor.shape)
        out = np.empty(tensor.shape, np.float32)
        for first in range(0, tensor.shape[0], _ROWS):
            out[first : first + _ROWS] = _dequantize(tensor.data[first : first + _ROWS], tensor.type_name)
        return out

    def read_rows(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Rows of the tensor as float32."""
        tensor = self.tensors[name]
        if len(tensor.shape) < 2:
            return self.read(name)[rows]
        return _dequantize(np.asarray(tensor.data[rows]), tensor.type_name).reshape(-1, tensor.shape[1])

    def _parse(self, mapped: NDArray[np.uint8]) -> tuple[dict[str, Any], dict[str, GgufTensor]]:
        cursor = _Cursor(mapped.data)
        cursor.at = len(_MAGIC)
        version = cursor.scalar("<I")
        if version not in (2, 3):
            raise UnsupportedError(
                f"{self.path}: GGUF version {version} is not supported (supported: 2 and 3)"
            )
        num_tensors, num_fields = cursor.scalar("<Q"), cursor.scalar("<Q")
        metadata = {}
        for _ in range(num_fields):
            key = cursor.string()
            metadata[key] = cursor.value(cursor.scalar("<I"))
        if metadata.get("split.count", 1) > 1:
            raise UnsupportedError(
                f"{self.path} is one of {metadata['split.count']} parts",
                hint="join them with llama-gguf-split --merge",
            )
        entries = [self._entry(cursor) for _ in range(num_tensors)]
        alignment = metadata.get("general.alignment", 32)
        start = cursor.at + (-cursor.at % alignment)
        tensors = {}
        for name, shape, kind, offset in entries:
            tensors[name] = self._tensor(mapped, name, shape, kind, start + offset)
        return metadata, tensors

    @staticmethod
    def _entry(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
        name, rank = cursor.string(), cursor.scalar("<I")
        shape = tuple(cursor.scalar("<Q") for _ in range(rank))[::-1]
        return name, shape, cursor.scalar("<I"), cursor.scalar("<Q")

    def _tensor(
        self, mapped: NDArray[np.uint8], name: str, shape: tuple[int, ...], kind: int, begin: int
    ) -> GgufTensor:
        from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

        try:
            quantization = GGMLQuantizationType(kind)
        except ValueError as error:
            raise UnsupportedError(f"{self.path}: tensor '{name}' has the unknown type {kind}") from error
        block, block_bytes = GGML_QUANT_SIZES[quantization]
        row_bytes = shape[-1] // block * block_bytes
        size = math.prod(shape[:-1]) * row_bytes
        if begin + size > mapped.size:
            raise InputFileError(
                f"{self.path} is truncated: '{name}' ends at byte {begin + size}, the file at {mapped.size}",
                hint="download it again",
            )
        data = mapped[begin : begin + size].reshape(*shape[:-1], row_bytes)
        return GgufTensor(name, shape, quantization.name, data)


def _dequantize(data: NDArray[np.uint8], type_name: str) -> NDArray[np.float32]:
    """Rows of bytes as rows of float32."""
    if type_name == "F32":
        return np.ascontiguousarray(data).view(np.float32)
    if type_name == "F16":
        return np.ascontiguousarray(data).view(np.float16).astype(np.float32)
    from gguf.constants import GGMLQuantizationType
    from gguf.quants import dequantize

    try:
        return dequantize(np.ascontiguousarray(data), GGMLQuantizationType[type_name]).astype(
            np.float32, copy=False
        )
    except NotImplementedError as error:
        raise UnsupportedError(f"GGUF tensors of type {type_name} are not supported") from error
