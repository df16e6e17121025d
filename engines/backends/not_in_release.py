"""Backends that are named in the contract but that this release does not build."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import NoReturn

from redraft._core.errors import UnavailableError
from redraft.engines.base import Availability, Backend, BuildReport, Engine, LoadOptions, Profile


class NotInReleaseBackend(Backend):
    """A registry entry that says why it cannot be used, and does nothing else."""

    def __init__(self, name: str, package: str, *, needs_gpu: bool) -> None:
        self.name = name
        self._package = package
        self._needs_gpu = needs_gpu

    def availability(self) -> Availability:
        """Never ok; the reason adds what is missing on this machine."""
        reasons = [f"this release builds ort-cpu only, {self.name} comes in a later one"]
        version = _installed_version(self._package)
        if version is None:
            reasons.append(f"the package {self._package} is not installed")
        if self._needs_gpu and not _has_nvidia_device():
            reasons.append("no NVIDIA GPU is visible")
        return Availability(
            ok=False, reason="; ".join(reasons), hint="use --backend ort-cpu", version=version
        )

    def build(self, graph: Path, output: Path, profile: Profile) -> BuildReport:
        """UnavailableError with the reason of `availability`."""
        self._refuse()

    def load(self, folder: Path, options: LoadOptions) -> Engine:
        """UnavailableError with the reason of `availability`."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        availability = self.availability()
        raise UnavailableError(f"backend '{self.name}': {availability.reason}", hint=availability.hint)


def _installed_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _has_nvidia_device() -> bool:
    return any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/dxg").exists()
