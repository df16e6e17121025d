"""HfFolderCheckpoint: a folder as transformers saves it (config.json, safetensors, tokenizer files)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError, UnsupportedError
from redraft.export.config import decoder_from_hf
from redraft.export.tokenizer import write_hf_tokenizer

from .base import Source
from .hf_names import hf_name, is_left_out, plain_hf_name
from .json_file import read_json_object
from .license import license_files, license_from_readme
from .mapped import MappedCheckpoint
from .safetensors_file import SafetensorsFile

INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
_FORMATS = {"BF16": "bf16", "F16": "fp16", "F32": "fp32", "F64": "fp64"}


class HfFolderCheckpoint(MappedCheckpoint):
    """Tensors are read one at a time from one file or from the shards of an index."""

    def __init__(self, folder: Path, *, uri: str | None = None, revision: str | None = None) -> None:
        if (folder / "adapter_config.json").exists():
            raise UnsupportedError(
                f"{folder} holds an adapter (adapter_config.json), which is not supported",
                hint="merge the adapter into its base model and save that",
            )
        family, config = decoder_from_hf(
            read_json_object(folder / "config.json"), str(folder / "config.json")
        )
        self.folder = folder
        self._norm_offset = np.float32(family.norm_offset)
        self._files = _open_files(folder)
        self._names = {
            plain_hf_name(stored): stored for stored in self._files if not is_left_out(stored, config)
        }
        source = Source(
            uri=uri or str(folder),
            revision=revision,
            format=f"safetensors-{self._dominant_dtype()}",
            license=license_from_readme(folder / "README.md"),
            license_files=license_files(folder),
        )
        super().__init__(config, source, folder)
        stored_names = {hf_name(name, config): name for name in self.names()}
        shapes = {
            stored_names[plain]: self._files[stored].tensors[stored].shape
            for plain, stored in self._names.items()
            if plain in stored_names
        }
        self._check_tensors(shapes, (name for name in self._names if name not in stored_names))

    def write_tokenizer(self, folder: Path) -> None:
        """tokenizer.json as the checkpoint has it, or converted by transformers where it has none."""
        write_hf_tokenizer(self.folder, folder)

    def _read(self, name: str) -> NDArray[np.float32]:
        stored = self._names[self._stored_name(name)]
        return self._as_multiplier(name, self._files[stored].read(stored))

    def _read_rows(self, name: str, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        stored = self._names[self._stored_name(name)]
        return self._as_multiplier(name, self._files[stored].read_rows(stored, rows))

    def _as_multiplier(self, name: str, value: NDArray[np.float32]) -> NDArray[np.float32]:
        """Norm weights of families that store w - 1 get the 1 back."""
        return value + self._norm_offset if self._norm_offset and name.endswith("norm.weight") else value

    def _stored_name(self, name: str) -> str:
        return hf_name(name, self.config)

    def _dominant_dtype(self) -> str:
        sizes: Counter[str] = Counter()
        for stored in self._names.values():
            tensor = self._files[stored].tensors[stored]
            sizes[tensor.dtype] += int(np.prod(tensor.shape, dtype=np.int64))
        dtype = sizes.most_common(1)[0][0] if sizes else "F32"
        return _FORMATS.get(dtype, dtype.lower())


def _open_files(folder: Path) -> dict[str, SafetensorsFile]:
    """Stored name -> the file that holds it."""
    index = folder / INDEX
    if index.exists():
        weight_map = read_json_object(index).get("weight_map")
        if not isinstance(weight_map, dict):
            raise InputFileError(f"{index}: the field 'weight_map' is missing")
        return _open_shards(folder, weight_map)
    if (folder / SINGLE).exists():
        file = SafetensorsFile(folder / SINGLE)
        return dict.fromkeys(file.tensors, file)
    raise InputFileError(
        f"{folder} has neither {SINGLE} nor {INDEX}",
        hint="only safetensors weights are read; convert older formats with transformers' save_pretrained",
    )


def _open_shards(folder: Path, weight_map: dict[str, str]) -> dict[str, SafetensorsFile]:
    shards: dict[str, SafetensorsFile] = {}
    for shard in sorted(set(weight_map.values())):
        if Path(shard).name != shard:
            raise InputFileError(f"{folder / INDEX}: the shard name '{shard}' leaves the folder")
        shards[shard] = SafetensorsFile(folder / shard)
    for name, shard in weight_map.items():
        if name not in shards[shard].tensors:
            raise InputFileError(
                f"{folder / shard}: the tensor '{name}' is missing, though the index names it"
            )
    return {name: shards[shard] for name, shard in weight_map.items()}
