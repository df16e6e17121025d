"""LoweringPass: one rewrite of a graph, which says what it changed and what it left alone and why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx_ir as ir

    from redraft.export.graph_spec import GraphSpec


@dataclass(frozen=True, slots=True)
class Refusal:
    """A place that a pass left as it was."""

    node: str
    reason: str


@dataclass(slots=True)
class PassReport:
    """What one pass did."""

    name: str
    changed: int = 0
    refusals: list[Refusal] = field(default_factory=list)

    def refuse(self, node: ir.Node, reason: str) -> None:
        """Record that `node` stays, and why."""
        self.refusals.append(Refusal(node.name or node.op_type, reason))


class LoweringPass(ABC):
    """Rewrites a model in place. The outputs must stay equal up to rounding.

    A pattern that does not fit is refused.
    """

    name: str

    @abstractmethod
    def apply(self, model: ir.Model, spec: GraphSpec) -> PassReport:
        """Rewrite every place that fits."""
