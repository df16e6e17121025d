"""redraft: lossless speculative decoding with vocabulary-pruned drafters, compiled to ONNX and TensorRT.

`import redraft` is light: it loads neither torch, nor onnxruntime, nor tensorrt. Public names are resolved on
first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redraft._core.errors import RedraftError
    from redraft.runtime import LLM, SamplingParams

__version__ = "0.1.0"
__all__ = ["LLM", "RedraftError", "SamplingParams", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "RedraftError":
        from redraft._core.errors import RedraftError

        return RedraftError
    if name in {"LLM", "SamplingParams"}:
        import redraft.runtime

        return getattr(redraft.runtime, name)
    raise AttributeError(f"module 'redraft' has no attribute '{name}'")
