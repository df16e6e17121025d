"""Reading and writing `manifest.json`, with one sentence for everything that can be wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from redraft._core.atomic import atomic_file
from redraft._core.digest import digest_file
from redraft._core.errors import InputFileError, MismatchError

from .manifest import MANIFEST_FILE, SCHEMA_VERSION, FileEntry, Manifest

_COMPILE = "compile the recipe again with `redraft compile`"


def read_manifest(folder: Path) -> Manifest:
    """The bundle's manifest.

    InputFileError where it is missing or damaged, MismatchError for another schema version.
    """
    path = folder / MANIFEST_FILE
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        what = "holds no manifest.json" if folder.is_dir() else "is not a folder"
        raise InputFileError(
            f"{folder} {what}, so it is not a bundle", hint="make one with `redraft compile RECIPE`"
        ) from None
    except (OSError, ValueError) as error:
        raise InputFileError(f"{path} is damaged: {error}", hint=_COMPILE) from None
    _check_version(path, value)
    try:
        return Manifest.model_validate_json(json.dumps(value))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise InputFileError(f"{path} is damaged: {where}: {first['msg']}", hint=_COMPILE) from None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `manifest.json` whole or not at all."""
    with atomic_file(folder / MANIFEST_FILE) as path:
        path.write_text(manifest.model_dump_json(indent=1) + "\n", encoding="utf-8")


def describe_files(folder: Path, paths: Iterable[str | Path]) -> dict[str, FileEntry]:
    """Entries of the files at these paths relative to `folder`; a folder stands for every file below it."""
    entries: dict[str, FileEntry] = {}
    for relative in paths:
        path = folder / relative
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                name = file.relative_to(folder).as_posix()
                entries[name] = FileEntry(size=file.stat().st_size, sha256=digest_file(file))
    return entries


def _check_version(path: Path, value: Any) -> None:
    version = value.get("schema_version") if isinstance(value, dict) else None
    if not isinstance(version, int) or isinstance(version, bool):
        raise InputFileError(f"{path} is damaged: schema_version is missing", hint=_COMPILE)
    if version > SCHEMA_VERSION:
        raise MismatchError(
            f"{path} has schema version {version}, this redraft reads up to {SCHEMA_VERSION}",
            hint="upgrade with `pip install -U redraft`",
        )
    if version < SCHEMA_VERSION:
        raise MismatchError(
            f"{path} has schema version {version}, this redraft reads {SCHEMA_VERSION}", hint=_COMPILE
        )
