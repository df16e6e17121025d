"""Decoding: laws, the warp, injectable decisions and the speculative loop."""

from __future__ import annotations

from .cached_model import CachedModel
from .compare_runs import Divergence, compare_runs
from .decision_source import DecisionKey, DecisionSource, RandomSource
from .decoder import Decoder
from .draft_length import ConfidenceThreshold, DraftLengthPolicy, FixedLength
from .generation import Generation, GenerationRequest
from .law import Law
from .stats import DecodingStats
from .warp import WarpParams, warp

__all__ = [
    "CachedModel",
    "ConfidenceThreshold",
    "DecisionKey",
    "DecisionSource",
    "Decoder",
    "DecodingStats",
    "Divergence",
    "DraftLengthPolicy",
    "FixedLength",
    "Generation",
    "GenerationRequest",
    "Law",
    "RandomSource",
    "WarpParams",
    "compare_runs",
    "warp",
]
