"""Checkpoint -> canonical ONNX graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .graph_spec import GraphSpec
from .precision import Precision

if TYPE_CHECKING:
    from .graph import drafter_body_digest, export_drafter, export_target, head_rows

__all__ = ["GraphSpec", "Precision", "drafter_body_digest", "export_drafter", "export_target", "head_rows"]

_FROM_GRAPH = ("drafter_body_digest", "export_drafter", "export_target", "head_rows")


def __getattr__(name: str) -> Any:
    """The graph builders, loaded on first use: the runtime reads graph specifications without onnx."""
    if name in _FROM_GRAPH:
        from . import graph

        return getattr(graph, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
