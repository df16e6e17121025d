"""Checkpoint: a real model's weights under canonical names, read one tensor at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft.export.config import DecoderConfig


@dataclass(frozen=True, slots=True)
class Source:
    """Where a checkpoint came from; goes into the manifest."""

    uri: str  # as the user wrote it: folder, hub id, file.gguf or package:name
    revision: str | None
    format: str  # e.g. "safetensors-bf16", "gguf-q4_1"
    license: str | None  # SPDX id or name, as the source states it
    license_files: tuple[Path, ...] = ()
    quantized_bits: int | None = None  # 4 for a file that is 4-bit already, None for 16- and 32-bit sources


@dataclass(frozen=True, slots=True)
class BlockQuantized:
    """A stored tensor of a block-quantised file: w = scale * q + minimum, blocks along the last axis."""

    q: NDArray[np.uint8]  # [out, in], values 0..15 (4-bit) or 0..255
    scale: NDArray[np.float32]  # [out, in / block]
    minimum: NDArray[np.float32]  # [out, in / block]
    block: int
    bits: int


class Checkpoint(ABC):
    """A model's weights [out, in] as float32, norms as multipliers, q/k rows in half-split rotary order.

    Canonical names, with i the layer:

    - embed.weight [T, E], final_norm.weight [E], head.weight [T, E] (absent when tied: use embed.weight)
    - layers.{i}.{q,k,v,o}.weight and layers.{i}.{gate,up,down}.weight, each with .bias [out] where biased
    - layers.{i}.{attention_norm,mlp_norm}.weight [E]; layers.{i}.{q_norm,k_norm}.weight [Hd]
    - layers.{i}.{post_attention_norm,post_mlp_norm}.weight [E] (sandwich norms)
    """

    config: DecoderConfig
    source: Source

    @abstractmethod
    def names(self) -> list[str]:
        """All canonical names that this checkpoint has."""

    @abstractmethod
    def load(self, name: str) -> NDArray[np.float32]:
        """One tensor, dequantised, as float32. Holds no copy afterwards. InputFileError where it is missing
        or damaged.
        """

    def load_rows(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Some rows of a matrix; subclasses may read only these."""
        return self.load(name)[rows]

    def load_quantized(self, name: str) -> BlockQuantized | None:
        """The tensor exactly as a block-quantised file stores it, or None where it is not stored so."""
        return None

    @abstractmethod
    def write_tokenizer(self, folder: Path) -> None:
        """Write tokenizer.json, tokenizer_config.json (chat template, special tokens) and redraft's
        `tokens.json` (see `export/tokenizer`) into `folder`.
        """

    def digest(self) -> str:
        """Hex SHA-256 of all weights under their canonical names (streamed, in name order)."""
        from redraft._core.digest import digest_bytes

        return digest_bytes(*(self._tensor_digest(name) for name in sorted(self.names())))

    def _tensor_digest(self, name: str) -> bytes:
        from redraft._core.digest import digest_bytes

        value: NDArray[Any] = np.ascontiguousarray(self.load(name))
        return f"{name}:{value.shape}:{digest_bytes(value.tobytes())}".encode()
