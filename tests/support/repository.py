"""The repository's folders, its tracked files and its imports, for the tests that guard them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("rdk", "export", "engines", "runtime")
"""The linked folders, each importing only those before it."""


def tracked_files() -> list[str]:
    """Paths of the files that git tracks; skips the test where there is no repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("no git repository here: the list of tracked files is unknown")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    return [path for path in listed.stdout.split("\0") if path and (ROOT / path).exists()]


def module_files(folder: Path) -> list[Path]:
    """Every Python file under a folder, links not followed."""
    return sorted(
        path for path in folder.rglob("*.py") if not any(part.is_symlink() for part in path.parents)
    )


def imported_modules(source: str, package: str) -> Iterator[tuple[int, str]]:
    """(line, absolute module name) of every import in `source`, a module of `package`, wherever it stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield node.lineno, stem
            yield from ((node.lineno, f"{stem}.{alias.name}") for alias in node.names)


def package_of(path: Path) -> str:
    """The package that a source file belongs to: `rdk/prior.py` -> `redraft.rdk`."""
    relative = path.relative_to(ROOT)
    parts = relative.parts[1:-1] if relative.parts[0] == "src" else ("redraft", *relative.parts[:-1])
    return ".".join(parts)
