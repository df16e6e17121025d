"""Checkpoints in: a folder, a hub id, a GGUF file or an installed package, behind one interface."""

from __future__ import annotations

from pathlib import Path

from redraft._core.errors import InputFileError

from .base import BlockQuantized, Checkpoint, Source

__all__ = ["BlockQuantized", "Checkpoint", "Source", "open_checkpoint"]


def open_checkpoint(uri: str) -> Checkpoint:
    """The checkpoint that `uri` names: a folder, `x.gguf`, `package:NAME`, or a hub id `org/name[@revision]`.

    Reads configs and headers, no weights. InputFileError: missing, damaged or inconsistent files.
    UnsupportedError: a model, field or format that is refused by name. UnavailableError: not installed, not
    cached and offline, or gated.
    """
    if uri.startswith("package:"):
        from .package import open_package

        return open_package(uri)
    path = Path(uri).expanduser()
    if path.is_dir():
        return _open_folder(path, uri)
    if path.suffix == ".gguf" or path.is_file():
        from .gguf_checkpoint import GgufCheckpoint

        return GgufCheckpoint(path, uri=uri)
    from .hub import HUB_ID, open_hub

    if HUB_ID.match(uri):
        return open_hub(uri)
    raise InputFileError(
        f"there is no file or folder {uri}",
        hint="a checkpoint is a folder, a .gguf file, package:NAME, or a hub id org/name[@revision]",
    )


def _open_folder(path: Path, uri: str) -> Checkpoint:
    from .hf_folder import HfFolderCheckpoint

    files = sorted(path.glob("*.gguf"))
    if files and not (path / "config.json").exists():
        raise InputFileError(
            f"{path} holds GGUF files but no config.json", hint=f"pass the file itself: {files[0]}"
        )
    return HfFolderCheckpoint(path, uri=uri)
