"""The folder in which a bundle grows: hidden beside its final place, and put there when it is complete."""

from __future__ import annotations

import os
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
            yield
            lock.unlink(missing_ok=True)
    except Timeout:
        raise RedraftError(
            f"another process is compiling {bundle}", hint="wait for it, or give another --output"
        ) from None
    except PermissionError as error:
        raise RedraftError(f"could not write beside {bundle}: {error.strerror}") from None


def start_partial(bundle: Path) -> Path:
    """The growing folder: what an interrupted compilation left, else a copy of the bundle's files by hard
    links.

    Every writer of the pipeline replaces files by renaming, so that the bundle's own are never changed
    through a link.
    """
    partial = partial_folder(bundle)
    if (partial / JOURNAL).is_file():
        return partial
    shutil.rmtree(partial, ignore_errors=True)
    if (bundle / JOURNAL).is_file():
        shutil.copytree(bundle, partial, copy_function=_link)
        (partial / "manifest.json").unlink(missing_ok=True)
        _own(partial / JOURNAL, bundle / JOURNAL)
    else:
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


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _own(target: Path, source: Path) -> None:
    target.unlink()
    shutil.copy2(source, target)
