"""TensorSpec: name, dtype and axes of one graph input or output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import RedraftError

Axis = str | int
"""A letter of `axes.AXES` (dynamic or bound per model) or a fixed size."""

_NUMPY_DTYPES = {
    "float32": np.float32,
    "float16": np.float16,
    "int64": np.int64,
    "int32": np.int32,
    "uint8": np.uint8,
}


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One graph input or output: what exporter, profiles, binding checks and test inputs all come from."""

    name: str
    dtype: str
    axes: tuple[Axis, ...]

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The NumPy dtype; bfloat16 has none and raises."""
        if self.dtype not in _NUMPY_DTYPES:
            raise RedraftError(f"tensor '{self.name}': dtype {self.dtype} has no NumPy equivalent here")
        return np.dtype(_NUMPY_DTYPES[self.dtype])

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The concrete shape, each letter replaced by its size; KeyError where a letter has no size."""
        return tuple(axis if isinstance(axis, int) else sizes[axis] for axis in self.axes)

    def check(self, value: NDArray[Any], sizes: Mapping[str, int], *, owner: str) -> None:
        """Raise RedraftError unless `value` has this dtype and, where `sizes` names the axis, this shape."""
        expected = [axis if isinstance(axis, int) else sizes.get(axis, axis) for axis in self.axes]
        fits = len(expected) == value.ndim and all(
            isinstance(e, str) or e == got for e, got in zip(expected, value.shape, strict=True)
        )
        if value.dtype.name != self.dtype or not fits:
            axes = ", ".join(str(axis) for axis in self.axes)
            got = f"{value.dtype.name} {list(value.shape)}"
            raise RedraftError(f"{owner} '{self.name}': expected {self.dtype} [{axes}], got {got}")

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads back."""
        return {"name": self.name, "dtype": self.dtype, "axes": list(self.axes)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> TensorSpec:
        """The specification that `to_json` wrote."""
        return TensorSpec(value["name"], value["dtype"], tuple(value["axes"]))
