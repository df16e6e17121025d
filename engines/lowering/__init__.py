"""Passes that turn the canonical graph into what a backend runs fastest."""

from .base import LoweringPass, PassReport, Refusal
from .pipeline import PASSES_VERSION, lower_for_ort_cpu, run_passes
from .save_model import save_model

__all__ = [
    "PASSES_VERSION",
    "LoweringPass",
    "PassReport",
    "Refusal",
    "lower_for_ort_cpu",
    "run_passes",
    "save_model",
]
