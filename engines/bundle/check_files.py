"""Comparing a bundle's files with its manifest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from redraft._core.digest import digest_file
from redraft._core.errors import InputFileError

from .manifest import Manifest


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that is not what the manifest says."""

    path: str
    reason: str


def check_files(
    folder: Path, manifest: Manifest, *, digests: bool, under: str = "", beside: str = ""
) -> Iterator[FileProblem]:
    """Every file that is missing, has another size or, with `digests`, another content.

    Only those below the folder `under`, where it is given, and none below `beside`.
    """
    for name, entry in manifest.files.items():
        if (under and not name.startswith(f"{under}/")) or (beside and name.startswith(f"{beside}/")):
            continue
        path = folder / name
        if not path.is_file():
            yield FileProblem(name, "is missing")
        elif path.stat().st_size != entry.size:
            yield FileProblem(name, f"has {path.stat().st_size} bytes, the manifest says {entry.size}")
        elif digests and digest_file(path) != entry.sha256:
            yield FileProblem(name, "has another content than the manifest says")


def require_files(folder: Path, manifest: Manifest, *, under: str = "", beside: str = "") -> None:
    """InputFileError for the first missing file or wrong size that `check_files` finds."""
    for problem in check_files(folder, manifest, digests=False, under=under, beside=beside):
        command = f"redraft build {folder}" if problem.path.startswith("engines/") else "redraft compile"
        raise InputFileError(
            f"{folder / problem.path} {problem.reason}", hint=f"make it again with `{command}`"
        )
