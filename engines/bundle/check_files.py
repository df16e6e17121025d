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


def check_files(folder: Path, manifest: Manifest, *, digests: bool, under: str = "") -> Iterator[FileProblem]:
    """Every file (below `under`) that is missing, has another size or, with `digests`, another content."""
    for name, entry in manifest.files.items():
        if under and not name.startswith(f"{under}/"):
            continue
        path = folder / name
        if not path.is_file():
            yield FileProblem(name, "is missing")
        elif path.stat().st_size != entry.size:
            yield FileProblem(name, f"has {path.stat().st_size} bytes, the manifest says {entry.size}")
        elif digests and digest_file(path) != entry.sha256:
            yield FileProblem(name, "has another content than the manifest says")


def require_files(folder: Path, manifest: Manifest, *, digests: bool = False, under: str = "") -> None:
    """InputFileError for the first problem that `check_files` finds."""
    for problem in check_files(folder, manifest, digests=digests, under=under):
        raise InputFileError(
            f"{folder / problem.path} {problem.reason}",
            hint="compile the recipe again with `redraft compile`",
        )
