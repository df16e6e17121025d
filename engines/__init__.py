"""ONNX graph -> something that runs: lowering, backends, bundles, cache."""

from __future__ import annotations

from .base import Availability, Backend, BuildReport, Call, Engine, KVCache, LoadOptions, Outputs, Profile
from .registry import BACKENDS, DEFAULT_BACKEND, available_backends, get_backend

__all__ = [
    "BACKENDS",
    "DEFAULT_BACKEND",
    "Availability",
    "Backend",
    "BuildReport",
    "Call",
    "Engine",
    "KVCache",
    "LoadOptions",
    "Outputs",
    "Profile",
    "available_backends",
    "get_backend",
]
