"""What the steps' keys are made of: the identity of a source checkpoint and of redraft's own code."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import redraft
from redraft._core.digest import digest_bytes, digest_file, digest_json
from redraft._core.errors import InputFileError

_WEIGHTS = (".safetensors", ".gguf", ".json", ".model", ".jinja", ".txt")
_SMALL = 1 << 20


def source_identity(uri: str) -> str:
    """A digest that changes when the checkpoint does, without reading its weights.

    Large files of a folder or a GGUF file count by name, size and time of change, small ones by content; a
    package by its version and the list of its files; a hub id by the commit that it resolves to.
    """
    if uri.startswith("package:"):
        return digest_json(["package", *_package(uri.removeprefix("package:"))])
    path = Path(uri).expanduser()
    if path.is_dir():
        files = sorted(item for item in path.iterdir() if item.is_file() and item.suffix in _WEIGHTS)
        return digest_json(["folder", *(_file(item) for item in files)])
    if path.is_file():
        return digest_json(["file", _file(path)])
    from redraft.export.checkpoint import open_checkpoint

    return digest_json(["hub", uri, open_checkpoint(uri).source.revision])


def file_identity(path: Path | None) -> str | None:
    """Digest of a file that a recipe names, None where it names none; InputFileError where it is missing."""
    if path is None:
        return None
    try:
        return digest_file(path)
    except OSError as error:
        raise InputFileError(f"could not read {path}: {error.strerror or error}") from None


@cache
def code_identity(folders: Sequence[str]) -> str:
    """Digest of the source files of some of redraft's folders: other code may make something else of the same
    input.
    """
    root = Path(redraft.__file__).parent
    parts = [redraft.__version__.encode()]
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            parts += [str(path.relative_to(root)).encode(), path.read_bytes()]
    return digest_bytes(*parts)


def _file(path: Path) -> list[Any]:
    status = path.stat()
    if status.st_size < _SMALL:
        return [path.name, digest_file(path)]
    return [path.name, status.st_size, status.st_mtime_ns]


def _package(name: str) -> list[Any]:
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return [name, None]
    files = sorted((str(file), file.size) for file in found.files or ())
    return [name, found.version, files]
