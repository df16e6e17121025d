"""Runtime: decoding losslessly on engines, and the Python API.

Names are resolved on first use, to keep imports light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .llm import LLM
    from .request_output import CompletionOutput, RequestOutput, TextDelta, Usage
    from .sampling_params import SamplingParams

__all__ = ["LLM", "CompletionOutput", "RequestOutput", "SamplingParams", "TextDelta", "Usage"]

_MODULES = {"LLM": "llm", "SamplingParams": "sampling_params"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'redraft.runtime' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'request_output')}"), name)
