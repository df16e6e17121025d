"""The order of the passes for each backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .base import LoweringPass, PassReport

if TYPE_CHECKING:
    import onnx_ir as ir

    from redraft.export.graph_spec import GraphSpec

PASSES_VERSION = 6
"""Part of every engine's cache key: raise it whenever a pass writes something else."""


def ort_cpu_passes() -> list[LoweringPass]:
    """Canonical graph -> what ONNX Runtime's CPU provider runs fastest.

    Measured and left out, because it gained nothing: SkipSimplifiedLayerNormalization for residual sums, gate
    and up merged in float32. The session itself fuses x · sigmoid(x).
    """
    from .dequantized_weights import DequantizeWeights
    from .drop_dead_code import DropDeadCode
    from .gather_block_quantized import FuseGatherBlockQuantized
    from .group_query_attention import FuseGroupQueryAttention
    from .inline_functions import InlineFunctions
    from .matmul_nbits import FuseMatMulNBits
    from .merge_gate_up import MergeGateUp
    from .pack_qkv import PackQkv
    from .split_shared_table import SplitSharedTable
    from .transposed_weights import FuseTransposedWeights

    return [
        InlineFunctions(),
        FuseGroupQueryAttention(),
        FuseMatMulNBits(),
        FuseGatherBlockQuantized(),
        DequantizeWeights(),
        FuseTransposedWeights(),
        PackQkv(),
        MergeGateUp(),
        SplitSharedTable(),
        DropDeadCode(),
    ]


def run_passes(model: ir.Model, spec: GraphSpec, passes: Sequence[LoweringPass]) -> list[PassReport]:
    """Apply the passes in order to `model`, in place."""
    return [one.apply(model, spec) for one in passes]


def lower_for_ort_cpu(model: ir.Model, spec: GraphSpec) -> list[PassReport]:
    """Apply `ort_cpu_passes` to `model`, in place."""
    return run_passes(model, spec, ort_cpu_passes())
