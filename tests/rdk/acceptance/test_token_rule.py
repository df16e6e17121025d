"""The token rule is lossless for every draft law, and the tests of it notice a wrong one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.rdk_cases import random_prior, small_map
from tests.support.token_rule_oracle import emitted_law

from redraft._core.errors import RedraftError, UsageError
from redraft.rdk.acceptance import (
    accept_probability,
    expected_acceptance,
    mean_acceptance_length,
    mean_length_of_positions,
    residual,
    sample_match_acceptance,
)
from redraft.rdk.prior import KINDS
from redraft.rdk.redistribution import distribution, reference
from redraft.runtime.decoding import Law
from redraft.runtime.decoding import acceptance_rule as law_rule

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.5, 0.3])
LAWS = st.lists(st.integers(0, 9), min_size=6, max_size=6).filter(any)


def law_of(weights: list[int]) -> np.ndarray:
    return np.array(weights, dtype=np.float64) / sum(weights)


def test_the_golden_example() -> None:
    assert expected_acceptance(P, Q) == pytest.approx(0.7)
    np.testing.assert_allclose(residual(P, Q), [1.0, 0.0, 0.0], atol=1e-15)
    assert mean_acceptance_length(0.8, 4) == pytest.approx(3.3616)


@given(LAWS, LAWS)
def test_the_emitted_token_has_the_targets_law_for_any_draft_law(p: list[int], q: list[int]) -> None:
    law, accepted = emitted_law(law_of(p), law_of(q))
    np.testing.assert_allclose(law, law_of(p), atol=1e-12)
    assert accepted == pytest.approx(float(expected_acceptance(law_of(p), law_of(q))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_redistribution_of_every_kind_is_lossless_with_any_prior(kind: str, epsilon: float) -> None:
    vocab_map = small_map(num_tokens=20)
    rng = np.random.default_rng(8)
    for seed in range(10):
        prior = random_prior(kind, vocab_map, epsilon=epsilon, seed=seed)
        q = distribution(reference(prior, vocab_map, rng.normal(0, 4, size=6), rng.normal(0, 5, size=5)))
        p = np.append(rng.dirichlet(np.full(20, 0.2)), np.zeros(3))
        law, _ = emitted_law(p, q)
        np.testing.assert_allclose(law, p, atol=1e-9)


def test_equal_laws_accept_everything_and_the_unused_residual_is_p() -> None:
    law, accepted = emitted_law(P, P.copy())
    assert accepted == 1.0
    np.testing.assert_array_equal(law, P)
    np.testing.assert_allclose(residual(P, P.copy()), P)


def test_disjoint_supports_accept_nothing_and_emit_p() -> None:
    p, q = np.array([0.4, 0.6, 0, 0]), np.array([0, 0, 0.1, 0.9])
    law, accepted = emitted_law(p, q)
    assert accepted == 0.0
    np.testing.assert_allclose(law, p)


def test_a_draft_that_the_target_excludes_is_always_rejected() -> None:
    assert accept_probability(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0) == 0.0
    assert residual(np.array([0.0, 1.0]), np.array([0.5, 0.5])).tolist() == [0.0, 1.0]


def test_a_token_that_the_draft_law_excludes_is_refused() -> None:
    with pytest.raises(RedraftError, match="target id 1 was drafted"):
        accept_probability(P, np.array([1.0, 0.0, 0.0]), 1)


def test_a_residual_that_rounding_empties_falls_back_to_p() -> None:
    p = np.array([0.1] * 10, dtype=np.float32)
    q = np.nextafter(p, np.float32(1))
    np.testing.assert_allclose(residual(p, q), 0.1)
    mixed = residual(np.stack([p, p]), np.stack([q, np.eye(10, dtype=np.float32)[0]]))
    np.testing.assert_allclose(mixed.sum(axis=-1), 1.0)
    assert mixed[1, 0] == 0.0


def one_token_residual(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Wrong on purpose: only the likeliest draft's mass is subtracted."""
    left = p.copy()
    token = int(np.argmax(q))
    left[token] = max(left[token] - q[token], 0.0)
    return left / left.sum()


def test_the_oracle_notices_a_residual_that_subtracts_one_token_only() -> None:
    law, _ = emitted_law(P, Q, one_token_residual)
    assert np.abs(law - P).max() > 0.03


def test_the_oracle_notices_a_draft_law_that_is_not_the_draws() -> None:
    drawn = np.array([0.6, 0.2, 0.2])
    law = np.zeros(3)
    for token in range(3):
        kept = accept_probability(P, Q, token)
        law[token] += drawn[token] * kept
        law += drawn[token] * (1 - kept) * residual(P, Q)
    assert np.abs(law - P).max() > 0.03


@given(LAWS, LAWS)
def test_comparing_samples_never_accepts_more_than_the_token_rule(p: list[int], q: list[int]) -> None:
    assert sample_match_acceptance(law_of(p), law_of(q)) <= expected_acceptance(law_of(p), law_of(q)) + 1e-12


@given(LAWS, LAWS)
def test_the_runtimes_rule_on_laws_is_this_rule(p: list[int], q: list[int]) -> None:
    rows = law_of(p), law_of(q)
    laws = Law(rows[0].copy(), None), Law(rows[1].copy(), None)
    for token in np.flatnonzero(rows[1]):
        ours = accept_probability(*rows, int(token))
        assert law_rule.accept_probability(*laws, int(token)) == pytest.approx(ours)
    ids, probs = law_rule.residual(*laws).support()
    dense = np.zeros(6)
    dense[ids] = probs
    if np.abs(rows[0] - rows[1]).max() > 1e-9:
        np.testing.assert_allclose(dense, residual(*rows), atol=1e-9)


def test_expected_lengths_agree_and_their_ends_are_right() -> None:
    assert mean_acceptance_length(0.0, 5) == 1.0
    assert mean_acceptance_length(1.0, 5) == 6.0
    assert mean_acceptance_length(0.5, 0) == 1.0
    assert mean_length_of_positions(np.full((2, 4), 0.8)) == pytest.approx([3.3616, 3.3616])
    for bad in ((-0.1, 1), (1.1, 1), (0.5, -1)):
        with pytest.raises(UsageError):
            mean_acceptance_length(*bad)
