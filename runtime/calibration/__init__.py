"""Calibration: text that the target writes itself, and statistics of both models over it."""

from __future__ import annotations

from .calibration_text import CalibrationText, TextSequence
from .collect_statistics import collect_statistics, probability_rows
from .generate_text import generate_text
from .prompts import CalibrationPrompt, built_in_prompts, read_prompts
from .teacher_forcing import RowChunk, teacher_forced

__all__ = [
    "CalibrationPrompt",
    "CalibrationText",
    "RowChunk",
    "TextSequence",
    "built_in_prompts",
    "collect_statistics",
    "generate_text",
    "probability_rows",
    "read_prompts",
    "teacher_forced",
]
