"""DISCO's threshold rule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.runtime.decoding import ConfidenceThreshold, FixedLength
from redraft.runtime.decoding.draft_length import best_threshold

Pairs = st.lists(
    st.tuples(st.sampled_from([0.05, 0.2, 0.4, 0.6, 0.9]), st.booleans()), min_size=2, max_size=30
)


def cost(threshold: float, pairs: list[tuple[float, bool]]) -> float:
    accepted = [score for score, label in pairs if label]
    rejected = [score for score, label in pairs if not label]
    false_rate = sum(score >= threshold for score in rejected) / len(rejected)
    true_rate = sum(score >= threshold for score in accepted) / len(accepted)
    return false_rate + 3 * (1 - true_rate)


@given(Pairs.filter(lambda pairs: len({label for _, label in pairs}) == 2))
def test_the_threshold_minimises_the_weighted_error_over_all_scores(pairs: list[tuple[float, bool]]) -> None:
    scores, labels = (np.array(column) for column in zip(*pairs, strict=True))
    chosen = best_threshold(scores, labels)
    assert cost(chosen, pairs) == pytest.approx(min(cost(score, pairs) for score, _ in pairs))


def test_drafts_after_the_first_rejection_are_not_judged() -> None:
    policy = ConfidenceThreshold(4, threshold=0.4, min_samples=2)
    policy.update([0.9, 0.3, 0.99, 0.99], num_accepted=1)
    assert policy.threshold == 0.9  # from (.9, accepted) and (.3, rejected) alone


def test_the_threshold_stays_until_both_outcomes_were_seen() -> None:
    policy = ConfidenceThreshold(4, threshold=0.4, min_samples=2)
    policy.update([0.9, 0.8, 0.7, 0.6], num_accepted=4)
    assert policy.threshold == 0.4
    policy.update([0.1], num_accepted=0)
    assert policy.threshold == 0.6


def test_a_token_below_the_threshold_is_the_last_one_drafted() -> None:
    policy = ConfidenceThreshold(4, threshold=0.4)
    assert not policy.stop_after(0.4)
    assert policy.stop_after(0.39)


def test_a_fixed_length_never_stops_early() -> None:
    policy = FixedLength(3)
    policy.update([], 0)
    assert not policy.stop_after(0.0)
