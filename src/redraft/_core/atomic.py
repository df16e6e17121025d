"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import InputFileError, RedraftError


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it over `path` on success, remove it on any error.

    An OSError while writing (a full disk, say) becomes a RedraftError that names `path`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise _write_error(path, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _open_to_umask(temporary, 0o666)
        temporary.replace(path)
    except OSError as error:
        raise _write_error(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path, *, marker: str | None = None) -> Iterator[Path]:
    """Yield a temporary folder beside `path`; put it in `path`'s place on success, remove it on any error.

    With `marker`, what lies at `path` is replaced only where it is an empty folder or one that holds a file
    of that name; InputFileError otherwise, before anything is written.
    """
    if marker is not None:
        _check_replaceable(path, marker)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    except OSError as error:
        raise _write_error(path, error) from error
    try:
        yield temporary
        _open_to_umask(temporary, 0o777)
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent))
            path.replace(old / path.name)
            temporary.replace(path)
            shutil.rmtree(old, ignore_errors=True)
        else:
            temporary.replace(path)
    except OSError as error:
        raise _write_error(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _check_replaceable(path: Path, marker: str) -> None:
    if not path.exists() or (path / marker).is_file() or (path.is_dir() and not any(path.iterdir())):
        return
    raise InputFileError(
        f"{path} is there and holds no {marker}, so it is not replaced",
        hint="give another folder, or move it away",
    )


def _open_to_umask(path: Path, mode: int) -> None:
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(mode & ~umask)


def _write_error(path: Path, error: OSError) -> RedraftError:
    reason = error.strerror or str(error)
    hint = "free some space or choose another folder" if error.errno in (28, 122) else None
    return RedraftError(f"could not write {path}: {reason}; nothing was left behind", hint=hint)
