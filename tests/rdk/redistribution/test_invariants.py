"""What holds for every kind and every prior, and what must not be claimed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats
from tests.support.rdk_cases import random_prior, small_map, stochastic

from redraft.rdk.acceptance import expected_acceptance
from redraft.rdk.prior import KINDS, PriorInputs, RdkPrior, unfitted_prior
from redraft.rdk.redistribution import NO_PROBABILITY, distribution, reference
from redraft.rdk.vocabulary import VocabMap

MAP = small_map()


def hot_and_hidden(vocab_map: VocabMap = MAP, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(0, 3, size=(2, 3, vocab_map.num_hot)), rng.normal(size=(2, 3, 5))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_tokens", [23, 20])
def test_d_is_a_distribution_over_tokens_and_padding_rows_get_nothing(kind: str, num_tokens: int) -> None:
    vocab_map = small_map(num_tokens=num_tokens)
    logits = reference(random_prior(kind, vocab_map), vocab_map, *hot_and_hidden(vocab_map))
    d = distribution(logits)
    assert d.shape == (2, 3, 23)
    assert (d >= 0).all()
    np.testing.assert_allclose(d.sum(axis=-1), 1.0, atol=1e-9)
    assert (logits[..., num_tokens:] == NO_PROBABILITY).all()
    assert (d[..., num_tokens:] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_draft_logits_are_log_d_plus_logsumexp_of_the_raw_hot_logits(kind: str) -> None:
    hot, hidden = hot_and_hidden()
    logits = reference(random_prior(kind, MAP), MAP, hot, hidden)
    live = np.where(logits > NO_PROBABILITY / 2, logits, -np.inf)
    np.testing.assert_allclose(np.log(np.exp(live).sum(-1)), np.log(np.exp(hot).sum(-1)), atol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "first-order", "bucket", "low-rank"])
def test_kinds_that_redistribute_reach_pruned_tokens(kind: str) -> None:
    d = distribution(reference(random_prior(kind, MAP), MAP, *hot_and_hidden()))
    assert (d[..., MAP.cold_ids].sum(axis=-1) > 0).all()


@pytest.mark.parametrize("kind", ["tli", "shift"])
def test_kinds_that_do_not_redistribute_stay_inside_the_map(kind: str) -> None:
    d = distribution(reference(random_prior(kind, MAP), MAP, *hot_and_hidden()))
    assert (d[..., MAP.cold_ids] == 0).all()


def test_tli_hot_entries_are_the_raw_logits_bit_for_bit() -> None:
    hot, _ = hot_and_hidden()
    logits = reference(random_prior("tli", MAP), MAP, hot)
    assert (logits[..., MAP.target_ids] == hot).all()


@pytest.mark.parametrize("kind", ["dense", "first-order"])
def test_mixtures_keep_at_least_their_share_of_the_drafter_and_of_its_acceptance(kind: str) -> None:
    hot, _ = hot_and_hidden()
    s = distribution(reference(random_prior("tli", MAP), MAP, hot))
    d = distribution(reference(random_prior(kind, MAP, epsilon=0.1), MAP, hot))
    assert (d >= 0.9 * s - 1e-12).all()
    p = np.random.default_rng(0).dirichlet(np.full(23, 0.3), size=(2, 3))
    assert (expected_acceptance(p, d) >= 0.9 * expected_acceptance(p, s) - 1e-12).all()


def test_first_order_rows_sum_to_one_before_any_clamping() -> None:
    factor = random_prior("first-order", MAP).arrays["factor"].astype(np.float64)
    factor -= factor.mean(axis=0)
    rows = (1 + factor @ factor.T / 7.0) / MAP.rows
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)


def test_first_order_approaches_dense_with_the_square_of_one_over_tau() -> None:
    rng = np.random.default_rng(1)
    vocab_map = small_map(200, 40)
    rows = rng.dirichlet(np.full(200, 0.05), size=50)
    factor = (rows - rows.mean(axis=0)).T / np.sqrt(50)
    hot = rng.normal(size=40)
    scale = np.abs(factor @ factor.T).max()
    errors = []
    for ratio in (0.2, 0.1, 0.05):
        inputs = PriorInputs(vocab_map, "b" * 64, covariance_factor=factor)
        pair = [
            distribution(reference(unfitted_prior(k, inputs, epsilon=1.0, tau=scale / ratio), vocab_map, hot))
            for k in ("dense", "first-order")
        ]
        errors.append(float(np.abs(pair[0] - pair[1]).sum()))
    assert errors[0] < 1e-3
    assert errors[1] < errors[0] / 3
    assert errors[2] < errors[1] / 3


def bucket_of(theta: float, w: np.ndarray, vocab_map: VocabMap, hot: np.ndarray) -> RdkPrior:
    """A bucket prior whose theta at these hot logits is `theta`."""
    total = np.log(np.exp(hot).sum())
    cold = total + np.log(theta) - np.log1p(-theta)
    arrays = {
        "state": np.zeros((1, 5), np.float32),
        "cold_log_prior": np.log(np.maximum(w, 1e-38)).astype(np.float32),
    }
    return RdkPrior("bucket", vocab_map.digest, "b" * 64, arrays, {"log_num_cold": float(cold)})


def test_bucket_acceptance_stays_within_its_bounds_and_beats_tli_under_the_condition() -> None:
    rng = np.random.default_rng(5)
    beaten = 0
    for _ in range(200):
        hot, theta = rng.normal(0, 2, size=6), float(rng.uniform(0.01, 0.6))
        w, p = rng.dirichlet(np.full(17, 0.5)), rng.dirichlet(np.full(23, 0.3))
        prior = bucket_of(theta, w, MAP, hot)
        d = distribution(reference(prior, MAP, hot, np.zeros(5)))
        tli = float(expected_acceptance(p, distribution(reference(random_prior("tli", MAP), MAP, hot))))
        ours = float(expected_acceptance(p, d))
        cold = float(np.minimum(p[MAP.cold_ids], theta * w).sum())
        assert (1 - theta) * tli + cold - 1e-6 <= ours <= tli + float(p[MAP.cold_ids].sum()) + 1e-6
        if cold > theta * tli + 1e-6:
            beaten += 1
            assert ours >= tli
    assert beaten > 20


def test_the_bucket_form_loses_where_the_target_never_leaves_the_map() -> None:
    hot = np.log(np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1]))
    p = np.zeros(23)
    p[MAP.target_ids] = np.exp(hot)
    d = distribution(reference(bucket_of(0.25, np.full(17, 1 / 17), MAP, hot), MAP, hot, np.zeros(5)))
    tli = distribution(reference(random_prior("tli", MAP), MAP, hot))
    assert expected_acceptance(p, tli) == pytest.approx(1.0)
    assert expected_acceptance(p, d) == pytest.approx(0.75, abs=1e-6)


def test_bucket_theta_never_exceeds_the_true_cold_mass() -> None:
    rng = np.random.default_rng(2)
    head = rng.normal(size=(23, 5)).astype(np.float32)
    inputs = PriorInputs(MAP, "b" * 64, lambda ids: head[ids], mean_target=np.full(23, 1 / 23))
    prior = unfitted_prior("bucket", inputs)
    for _ in range(50):
        hidden = rng.normal(0, 2, size=5)
        full = head.astype(np.float64) @ hidden
        d = distribution(reference(prior, MAP, full[MAP.target_ids], hidden))
        true = np.exp(full - full.max())
        true /= true.sum()
        assert d[MAP.cold_ids].sum() <= true[MAP.cold_ids].sum() + 1e-6


def test_bucket_theta_is_the_true_cold_mass_where_all_cold_logits_are_equal() -> None:
    head = np.ones((23, 5), np.float32) * 0.3
    head[MAP.target_ids] = np.random.default_rng(4).normal(size=(6, 5))
    inputs = PriorInputs(MAP, "b" * 64, lambda ids: head[ids], mean_target=np.full(23, 1 / 23))
    hidden = np.arange(5) / 5
    full = head @ hidden
    d = distribution(reference(unfitted_prior("bucket", inputs), MAP, full[MAP.target_ids], hidden))
    np.testing.assert_allclose(d, np.exp(full) / np.exp(full).sum(), rtol=1e-5)


def test_some_kernel_reaches_acceptance_one_where_tli_is_capped() -> None:
    rng = np.random.default_rng(6)
    p = stochastic(rng, 1, MAP)[0]
    prior = random_prior("dense", MAP, epsilon=1.0)
    prior = dataclasses.replace(prior, arrays={"kernel": np.tile(p, (6, 1))})
    hot, _ = hot_and_hidden()
    assert expected_acceptance(p, distribution(reference(prior, MAP, hot[0, 0]))) == pytest.approx(
        1, abs=1e-6
    )
    tli = distribution(reference(random_prior("tli", MAP), MAP, hot[0, 0]))
    assert expected_acceptance(p, tli) <= p[MAP.target_ids].sum() + 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_a_greedy_target_accepts_with_probability_d_at_its_token(kind: str) -> None:
    d = distribution(reference(random_prior(kind, MAP), MAP, *hot_and_hidden()))[0, 0]
    for token in (int(MAP.cold_ids[0]), int(MAP.target_ids[0])):
        p = np.eye(23)[token]
        assert expected_acceptance(p, d) == pytest.approx(d[token])
    if kind == "tli":
        assert expected_acceptance(np.eye(23)[MAP.cold_ids[0]], d) == 0.0


def test_drawing_a_kept_token_and_then_a_row_of_the_kernel_has_the_law_d() -> None:
    # chi-square, 20,000 draws, fixed seed, rejected at 1e-4; a kernel used transposed is off by far more
    prior = random_prior("dense", MAP, epsilon=1.0)
    hot, _ = hot_and_hidden()
    d = distribution(reference(prior, MAP, hot[0, 0]))
    rng = np.random.default_rng(7)
    s = np.exp(hot[0, 0] - hot[0, 0].max())
    kernel = prior.arrays["kernel"].astype(np.float64)
    first = rng.choice(6, size=20_000, p=s / s.sum())
    cumulative = (kernel / kernel.sum(axis=1, keepdims=True)).cumsum(axis=1)
    drawn = (rng.random(20_000)[:, None] > cumulative[first]).sum(axis=1)
    counts = np.bincount(drawn, minlength=23)[:23]
    frequent = d * 20_000 > 5
    observed = np.append(counts[frequent], counts[~frequent].sum())
    expected = np.append(d[frequent], d[~frequent].sum()) * 20_000
    assert stats.chisquare(observed[expected > 0], expected[expected > 0]).pvalue > 1e-4
