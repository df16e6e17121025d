"""MappedCheckpoint: a checkpoint whose canonical tensors are stored under other names in a file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError, UnsupportedError
from redraft.export.config import DecoderConfig, tensor_shapes

from .base import Checkpoint, Source


class MappedCheckpoint(Checkpoint):
    """Checks once, when it is opened, that the file has exactly the tensors of the description in the right
    shapes.
    """

    def __init__(self, config: DecoderConfig, source: Source, where: Path) -> None:
        self.config = config
        self.source = source
        self.where = where
        self._shapes = tensor_shapes(config)

    def names(self) -> list[str]:
        """Canonical names, in the order of the forward pass."""
        return list(self._shapes)

    def load(self, name: str) -> NDArray[np.float32]:
        """One tensor as float32."""
        self._check_name(name)
        return self._read(name)

    def load_rows(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """These rows of a tensor as float32; only they are read."""
        self._check_name(name)
        count = self._shapes[name][0]
        if len(rows) and not (int(rows.min()) >= 0 and int(rows.max()) < count):
            raise IndexError(f"rows of '{name}' must lie in 0..{count - 1}")
        return self._read_rows(name, rows)

    @abstractmethod
    def _read(self, name: str) -> NDArray[np.float32]:
        """`load` after the checks."""

    @abstractmethod
    def _read_rows(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """`load_rows` after the checks."""

    def _check_name(self, name: str) -> None:
        if name not in self._shapes:
            raise KeyError(f"'{name}' is not a tensor of this checkpoint")

    def _check_tensors(self, stored: dict[str, tuple[int, ...]], extra: Iterable[str]) -> None:
        """`stored`: canonical name -> shape in the file, where it is there; `extra`: names that mean nothing
        here.
        """
        for name, expected in self._shapes.items():
            if name not in stored:
                raise InputFileError(f"{self.where}: the tensor '{self._stored_name(name)}' is missing")
            if stored[name] != expected:
                raise InputFileError(
                    f"{self.where}: tensor '{self._stored_name(name)}': expected {list(expected)} from the "
                    f"config, got {list(stored[name])}"
                )
        surplus = sorted(extra)
        if surplus:
            shown = ", ".join(f"'{name}'" for name in surplus[:3]) + (", …" if len(surplus) > 3 else "")
            raise UnsupportedError(
                f"{self.where}: the family '{self.config.family}' has no use for {len(surplus)} tensor(s): "
                f"{shown}",
                hint="this checkpoint computes something that redraft does not know",
            )

    @abstractmethod
    def _stored_name(self, name: str) -> str:
        """The name in the file of a canonical name."""
