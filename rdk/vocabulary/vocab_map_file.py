"""`vocab_map.safetensors`: a VocabMap as a file that TensorRT Edge-LLM reads too.

One tensor, `vocab_map`, int32 [D], sorted and absolute; what else there is to know stands in the metadata.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from redraft._core.atomic import atomic_file
from redraft._core.errors import InputFileError, MismatchError
from redraft.rdk.array_file import read_arrays, write_arrays

from .vocab_map import VocabMap

KEY = "vocab_map"
FORMAT = "redraft-vocab-map-1"


def save_vocab_map(vocab_map: VocabMap, path: Path) -> None:
    """Write `vocab_map` to `path`, whole or not at all."""
    metadata = {
        "format": FORMAT,
        "rows": str(vocab_map.rows),
        "num_tokens": str(vocab_map.num_tokens),
        "tokenizer_digest": vocab_map.tokenizer_digest,
        "digest": vocab_map.digest,
    }
    with atomic_file(path) as temporary:
        write_arrays(temporary, {KEY: vocab_map.target_ids}, metadata)


def load_vocab_map(path: Path) -> VocabMap:
    """Read what `save_vocab_map` wrote.

    InputFileError: missing, truncated, without metadata (use `imports.import_ids`), or ids that are no map.
    MismatchError: the ids are not those that the file's own digest was made of.
    """
    arrays, metadata = read_arrays(path)
    if KEY not in arrays:
        raise InputFileError(f"{path} holds no tensor '{KEY}'")
    try:
        rows, num_tokens = int(metadata["rows"]), int(metadata["num_tokens"])
        tokenizer_digest, digest = metadata["tokenizer_digest"], metadata["digest"]
    except (KeyError, ValueError) as error:
        raise InputFileError(
            f"{path} says neither how many rows the target has nor which tokenizer it is for",
            hint="redraft vocab import makes a map of it for a given model",
        ) from error
    ids = arrays[KEY]
    if ids.dtype != np.int32:
        raise InputFileError(f"{path}: expected int32 ids, got {ids.dtype.name}")
    try:
        vocab_map = VocabMap(ids, rows, tokenizer_digest, num_tokens)
    except InputFileError as error:
        raise InputFileError(f"{path}: {error.message}", hint=error.hint) from error
    if vocab_map.digest != digest:
        raise MismatchError(
            f"{path}: its ids have digest {vocab_map.digest[:12]}, but it was written with {digest[:12]}",
            hint="the file was changed after it was made; build the map again: redraft vocab build",
        )
    return vocab_map
