"""EngineStore: built engines in folders `<root>/<backend>/<key>/`, published whole, built once."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redraft._core.atomic import atomic_folder
from redraft._core.errors import RedraftError, UnavailableError
from redraft.engines.base import Backend, BuildReport, Profile

REPORT_FILE = "build.json"
_LOCK_TIMEOUT = 3600.0


@dataclass(frozen=True, slots=True)
class BuiltEngine:
    """A published engine folder and the report of its build; `reused` where it was there before."""

    path: Path
    report: BuildReport
    reused: bool


@dataclass(frozen=True, slots=True)
class CachedEngine:
    """One entry of the store. `used` is the time of the last build or reuse, seconds since the epoch."""

    backend: str
    key: str
    path: Path
    num_bytes: int
    used: float


@dataclass(frozen=True, slots=True)
class EngineStore:
    """The folder that holds engines: a bundle's `engines/`, or the user's cache."""

    root: Path

    def entries(self) -> list[CachedEngine]:
        """Every whole engine, the one unused for longest first."""
        entries = [
            CachedEngine(
                report.parent.parent.name,
                report.parent.name,
                report.parent,
                _size(report.parent),
                _used(report),
            )
            for report in self.root.glob(f"*/*/{REPORT_FILE}")
        ]
        return sorted(entries, key=lambda entry: entry.used)

    def prune(self, *, max_bytes: int | None = None, unused_days: float | None = None) -> list[CachedEngine]:
        """Remove engines unused for `unused_days`, then the longest unused ones down to `max_bytes`."""
        entries = self.entries()
        oldest = -1.0 if unused_days is None else time.time() - unused_days * 86400
        removed = [entry for entry in entries if entry.used < oldest]
        kept = [entry for entry in entries if entry.used >= oldest]
        total = sum(entry.num_bytes for entry in kept)
        while max_bytes is not None and kept and total > max_bytes:
            entry = kept.pop(0)
            total -= entry.num_bytes
            removed.append(entry)
        for entry in removed:
            self._remove(entry)
        return removed

    def clear(self) -> list[CachedEngine]:
        """Remove every engine."""
        removed = self.entries()
        for entry in removed:
            self._remove(entry)
        return removed

    def _remove(self, entry: CachedEngine) -> None:
        shutil.rmtree(entry.path, ignore_errors=True)
        _lock_path(entry.path).unlink(missing_ok=True)


def default_store() -> EngineStore:
    """The user's engine cache: `$XDG_CACHE_HOME/redraft/engines` on Linux."""
    from platformdirs import user_cache_path

    return EngineStore(user_cache_path("redraft", appauthor=False) / "engines")


def build_cached(backend: Backend, graph: Path, profile: Profile, root: Path, key: str) -> BuiltEngine:
    """The engine with this key under `root`, built where it is not there yet.

    One of several builders builds, the others wait for it. UnavailableError where the backend cannot work
    here.
    """
    from filelock import FileLock, Timeout

    folder = root / backend.name / key
    found = _read(folder)
    if found is not None:
        return found
    availability = backend.availability()
    if not availability.ok:
        raise UnavailableError(f"backend '{backend.name}': {availability.reason}", hint=availability.hint)
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = _lock_path(folder)
    try:
        with FileLock(lock, timeout=_LOCK_TIMEOUT):
            return _read(folder) or _build(backend, graph, profile, folder)
    except Timeout:
        raise RedraftError(
            f"another build holds {lock} for too long", hint="end that build, then try again"
        ) from None


def _build(backend: Backend, graph: Path, profile: Profile, folder: Path) -> BuiltEngine:
    with atomic_folder(folder) as temporary:
        report = backend.build(graph, temporary, profile)
        (temporary / REPORT_FILE).write_text(json.dumps(dataclasses.asdict(report), indent=1))
    return BuiltEngine(folder, report, reused=False)


def _read(folder: Path) -> BuiltEngine | None:
    """The engine in `folder`, None where it is not there or not whole. A look counts as use."""
    path = folder / REPORT_FILE
    try:
        value: dict[str, Any] = json.loads(path.read_text())
        report = BuildReport(**{**value, "files": tuple(value["files"]), "passes": tuple(value["passes"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not all((folder / name).is_file() for name in report.files):
        return None
    with contextlib.suppress(OSError):  # a read-only bundle
        path.touch()
    return BuiltEngine(folder, report, reused=True)


def _lock_path(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.lock"


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _used(report: Path) -> float:
    return report.stat().st_mtime
