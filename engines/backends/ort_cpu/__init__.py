"""ONNX Runtime on the CPU: the embedded default."""

from .backend import OrtCpuBackend
from .engine import OrtCpuEngine

__all__ = ["OrtCpuBackend", "OrtCpuEngine"]
