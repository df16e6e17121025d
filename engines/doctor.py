"""Facts for `redraft doctor`: the backends, and what of this machine decides their speed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from .registry import available_backends

_FEATURES = (
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512_vnni",
    "avx_vnni",
    "amx_int8",
    "asimd",
    "asimddp",
    "i8mm",
    "sve",
)
"""Instruction sets that ONNX Runtime's CPU kernels choose by."""


def doctor() -> dict[str, Any]:
    """JSON object.

    `backends` (name -> availability), `threads` (the default), `cpu_features`, `memory_bytes`.
    """
    from .backends.ort_cpu.session import usable_cores

    return {
        "backends": {name: asdict(found) for name, found in available_backends().items()},
        "threads": usable_cores(),
        "cpu_features": cpu_features(),
        "memory_bytes": _memory_bytes(),
    }


def cpu_features() -> list[str]:
    """Those of `_FEATURES` that this processor has; empty where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []
    words = {word for line in lines if line.startswith(("flags", "Features")) for word in line.split()}
    return [name for name in _FEATURES if name in words]


def _memory_bytes() -> dict[str, int]:
    """Total and available physical memory; empty where the system does not say."""
    try:
        pairs = (line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        sizes = {name: int(rest.split()[0]) * 1024 for name, rest in pairs}
        return {"total": sizes["MemTotal"], "available": sizes["MemAvailable"]}
    except (OSError, ValueError, KeyError, IndexError):
        return {}
