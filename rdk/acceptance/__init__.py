"""Acceptance: the rule that keeps speculation lossless, and how much it is expected to accept."""

from .expected import (
    expected_acceptance,
    mean_acceptance_length,
    mean_length_of_positions,
    sample_match_acceptance,
)
from .token_rule import accept_probability, residual

__all__ = [
    "accept_probability",
    "expected_acceptance",
    "mean_acceptance_length",
    "mean_length_of_positions",
    "residual",
    "sample_match_acceptance",
]
