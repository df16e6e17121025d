"""The backends by name. Nothing heavy is imported before a backend is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from redraft._core.errors import UsageError

from .base import Availability, Backend

DEFAULT_BACKEND = "ort-cpu"


def _ort_cpu() -> Backend:
    from .backends.ort_cpu import OrtCpuBackend

    return OrtCpuBackend()


def _unbuilt(name: str, package: str, needs_gpu: bool) -> Callable[[], Backend]:
    def factory() -> Backend:
        from .backends.not_in_release import NotInReleaseBackend

        return NotInReleaseBackend(name, package, needs_gpu=needs_gpu)

    return factory


BACKENDS: dict[str, Callable[[], Backend]] = {
    "ort-cpu": _ort_cpu,
    "ort-cuda": _unbuilt("ort-cuda", "onnxruntime-gpu", needs_gpu=True),
    "tensorrt": _unbuilt("tensorrt", "tensorrt", needs_gpu=True),
    "tensorrt-rtx": _unbuilt("tensorrt-rtx", "tensorrt-rtx", needs_gpu=True),
}
"""Name -> factory."""


def get_backend(name: str) -> Backend:
    """The backend of that name, available or not; UsageError names the nearest known one."""
    factory = BACKENDS.get(name)
    if factory is not None:
        return factory()
    nearest = difflib.get_close_matches(name, BACKENDS, n=1, cutoff=0.4)
    guess = f"; did you mean '{nearest[0]}'?" if nearest else ""
    raise UsageError(f"backend: expected one of {', '.join(BACKENDS)}, got '{name}'{guess}")


def available_backends() -> dict[str, Availability]:
    """What every backend says of this machine, in the registry's order."""
    return {name: factory().availability() for name, factory in BACKENDS.items()}
