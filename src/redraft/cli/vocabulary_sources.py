"""Where a vocabulary map's ids come from: a text file, a list of ids, and the tokenizer that reads them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError

if TYPE_CHECKING:
    from redraft.runtime.text import TextTokenizer

_CHUNK_CHARACTERS = 1 << 16


@dataclass(frozen=True, slots=True)
class Model:
    """A model's tokenizer and T, its logit rows."""

    tokenizer: TextTokenizer
    rows: int


def open_model(name: str) -> Model:
    """The tokenizer and rows of a bundle or of a checkpoint (folder, hub id, .gguf, package:NAME)."""
    from redraft.runtime.text import TextTokenizer

    if (Path(name).expanduser() / "manifest.json").is_file():
        from redraft.engines.bundle import Bundle

        bundle = Bundle.open(name)
        return Model(TextTokenizer.read(bundle.tokenizer_folder), bundle.spec("target").sizes["T"])
    from redraft.export.checkpoint import open_checkpoint

    checkpoint = open_checkpoint(name)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint.write_tokenizer(Path(folder))
        return Model(TextTokenizer.read(Path(folder)), checkpoint.config.head_rows)


def tokens_of_text(path: Path, tokenizer: TextTokenizer) -> Iterator[NDArray[np.int64]]:
    """Target ids of a UTF-8 text file, some whole lines at a time.

    InputFileError: missing or no UTF-8 text.
    """
    starts_with_bos = tokenizer.info.add_bos and tokenizer.info.bos_id is not None
    try:
        with path.open(encoding="utf-8") as file:
            while lines := file.readlines(_CHUNK_CHARACTERS):
                ids = tokenizer.encode("".join(lines))
                yield np.array(ids[1:] if starts_with_bos else ids, dtype=np.int64)
    except OSError as error:
        raise InputFileError(f"could not read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputFileError(f"{path} is no UTF-8 text", hint="give a text file") from None


def read_ids(path: Path) -> NDArray[np.int64]:
    """Target ids of a JSON list, or of a file with one a line.

    InputFileError names the first that is no number.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputFileError(f"could not read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputFileError(
            f"{path} is no text", hint="`redraft vocab import` reads .pt and .safetensors files"
        ) from None
    items = _json_list(path, text) if text.lstrip().startswith("[") else text.split()
    ids = []
    for item in items:
        try:
            ids.append(_whole(item))
        except (TypeError, ValueError):
            raise InputFileError(f"{path}: expected token ids, got {item!r}") from None
    if not ids:
        raise InputFileError(f"{path} lists no token id")
    return np.array(ids, dtype=np.int64)


def _whole(item: object) -> int:
    if isinstance(item, bool) or not isinstance(item, int | str):
        raise TypeError(item)
    return int(item)


def _json_list(path: Path, text: str) -> list[object]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InputFileError(f"{path} is no JSON list: {error}") from None
    return list(value)
