"""The folder in which a bundle grows: hidden beside its final place, and put there when it is complete."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redraft._core.errors import RedraftError

from .journal import JOURNAL

PARTIAL_SUFFIX = ".partial"


def partial_folder(bundle: Path) -> Path:
    """Where `bundle` grows: `.<name>.partial` beside it."""
    return bundle.parent / f".{bundle.name}{PARTIAL_SUFFIX}"


@contextmanager
def compiling(bundle: Path) -> Iterator[None]:
    """Keep other compilations of the same bundle out; RedraftError where one is running."""
    from filelock import FileLock, Timeout

    lock = bundle.parent / f".{bundle.name}.lock"
    try:
        bundle.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, timeout=0):
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
    except Timeout:
        raise RedraftError(
            f"another process is compiling {bundle}", hint="wait for it, or give another --output"
        ) from None
    except PermissionError as error:
        raise RedraftError(f"could not write beside {bundle}: {error.strerror}") from None


def start_partial(bundle: Path) -> Path:
    """The growing folder: what an interrupted compilation left, else an empty one."""
    partial = partial_folder(bundle)
    if not (partial / JOURNAL).is_file():
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    return partial


def publish(partial: Path, bundle: Path) -> None:
    """Put the finished folder in the bundle's place; the old bundle goes once the new one stands there."""
    old = bundle.parent / f".{bundle.name}.old"
    shutil.rmtree(old, ignore_errors=True)
    try:
        if bundle.exists():
            bundle.replace(old)
        partial.replace(bundle)
    except OSError as error:
        if old.exists() and not bundle.exists():
            old.replace(bundle)
        raise RedraftError(f"could not put the bundle to {bundle}: {error.strerror}") from error
    shutil.rmtree(old, ignore_errors=True)
