"""Vocabulary maps: which target tokens a pruned drafter keeps, and what a tokenizer says of its ids."""

from .build import (
    MapBuild,
    always_kept,
    build_from_ids,
    build_from_scores,
    count_tokens,
    identity_map,
    map_size,
)
from .coverage import Coverage, coverage_of_counts, covered_mass
from .tokenizer_info import TokenizerInfo
from .vocab_map import VocabMap

__all__ = [
    "Coverage",
    "MapBuild",
    "TokenizerInfo",
    "VocabMap",
    "always_kept",
    "build_from_ids",
    "build_from_scores",
    "count_tokens",
    "coverage_of_counts",
    "covered_mass",
    "identity_map",
    "map_size",
]
