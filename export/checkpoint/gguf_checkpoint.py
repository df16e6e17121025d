"""GgufCheckpoint: a model in one GGUF file, dequantised one tensor at a time."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError
from redraft.export.config import GgufTensors, decoder_from_gguf
from redraft.export.tokenizer import write_gguf_tokenizer

from .base import BlockQuantized, Source
from .gguf_blocks import block_quantized
from .gguf_file import GgufFile
from .gguf_names import LEFT_OUT, gguf_name, half_split_rows
from .license import license_files
from .mapped import MappedCheckpoint


class GgufCheckpoint(MappedCheckpoint):
    """Norm weights of GGUF files are multipliers already (the converter adds Gemma's 1)."""

    def __init__(
        self,
        path: Path,
        *,
        uri: str | None = None,
        revision: str | None = None,
        license_paths: tuple[Path, ...] | None = None,
    ) -> None:
        self.file = GgufFile(path)
        tensors = self.file.tensors
        if "token_embd.weight" not in tensors:
            raise InputFileError(f"{path}: the tensor 'token_embd.weight' is missing")
        facts = GgufTensors(
            names=frozenset(tensors),
            head_rows=tensors["token_embd.weight"].shape[0],
            rope_freqs=self.file.read("rope_freqs.weight") if "rope_freqs.weight" in tensors else None,
        )
        config = decoder_from_gguf(self.file.metadata, facts, str(path))
        format_name, bits = self._format()
        source = Source(
            uri=uri or str(path),
            revision=revision,
            format=format_name,
            license=self.file.metadata.get("general.license.name")
            or self.file.metadata.get("general.license"),
            license_files=license_files(path.parent) if license_paths is None else license_paths,
            quantized_bits=bits,
        )
        super().__init__(config, source, path)
        stored_names = {gguf_name(name): name for name in self.names()}
        shapes = {
            stored_names[name]: tensor.shape for name, tensor in tensors.items() if name in stored_names
        }
        self._check_tensors(
            shapes, (name for name in tensors if name not in stored_names and name not in LEFT_OUT)
        )

    def load_quantized(self, name: str) -> BlockQuantized | None:
        """The stored blocks, rows in canonical order; None for types that are not scale * q + minimum."""
        self._check_name(name)
        tensor = self.file.tensors[gguf_name(name)]
        order = half_split_rows(name, self.config)
        data = tensor.data if order is None or len(tensor.shape) < 2 else tensor.data[order]
        return block_quantized(data, tensor.type_name) if len(tensor.shape) == 2 else None

    def write_tokenizer(self, folder: Path) -> None:
        """A tokenizer.json built from the file's metadata."""
        write_gguf_tokenizer(self.file.metadata, self.where, folder)

    def _read(self, name: str) -> NDArray[np.float32]:
        order = half_split_rows(name, self.config)
        value = self.file.read(gguf_name(name))
        return value if order is None else value[order]

    def _read_rows(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        order = half_split_rows(name, self.config)
        return self.file.read_rows(gguf_name(name), rows if order is None else order[rows])

    def _stored_name(self, name: str) -> str:
        return gguf_name(name)

    def _format(self) -> tuple[str, int | None]:
        """`gguf-q4_k_m` and the bits, as the file states or by its largest kind of matrix."""
        from gguf.constants import LlamaFileType

        sizes: Counter[str] = Counter()
        for name, tensor in self.file.tensors.items():
            if name != "token_embd.weight":
                sizes[tensor.type_name] += int(np.prod(tensor.shape, dtype=np.int64))
        kind = sizes.most_common(1)[0][0] if sizes else "F32"
        stated = self.file.metadata.get("general.file_type")
        if stated in set(LlamaFileType):
            kind = LlamaFileType(stated).name.removeprefix("MOSTLY_").removeprefix("ALL_")
        bits = re.match(r"I?T?Q(\d)", kind)
        return f"gguf-{kind.lower()}", int(bits[1]) if bits else None
