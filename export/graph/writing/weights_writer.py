"""WeightsWriter: streams tensors into the external data file of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnx_ir as ir

ALIGNMENT = 4096
"""Every tensor starts at a multiple of this, so that a reader may map it into memory."""


class WeightsWriter:
    """Appends tensors to one file and hands back references to them. Holds no tensor after `write` returns.

    `first_offset` leaves a hole before the first tensor; on most file systems it takes no space.
    """

    def __init__(self, path: Path, *, first_offset: int = 0) -> None:
        self._path = path
        self._file = path.open("wb")
        self._offset = first_offset

    def write(
        self, name: str, dtype: ir.DataType, shape: Sequence[int], chunks: Iterable[NDArray[Any]]
    ) -> ir.ExternalTensor:
        """Write the chunks' bytes one after the other as the tensor `name`.

        4-bit types come packed (`pack_nibbles`), two values a byte. The chunks must fill the shape exactly.
        """
        import onnx_ir as ir

        start = -(-self._offset // ALIGNMENT) * ALIGNMENT
        self._file.seek(start)
        length = 0
        for chunk in chunks:
            data = np.ascontiguousarray(chunk).reshape(-1).view(np.uint8)
            self._file.write(data.data)
            length += data.size
        expected = -(-int(np.prod(shape)) * dtype.bitwidth // 8)
        assert length == expected, f"{name}: wrote {length} bytes, the shape {list(shape)} needs {expected}"
        self._offset = start + length
        return ir.ExternalTensor(
            location=self._path.name,
            offset=start,
            length=length,
            dtype=dtype,
            shape=ir.Shape(shape),
            name=name,
            base_dir=self._path.parent,
        )

    def close(self) -> None:
        """Flush and close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
