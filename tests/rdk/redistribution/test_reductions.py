"""Where a kind must become another one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.support.rdk_cases import random_prior, small_map

from redraft._core.errors import MismatchError, UnsupportedError, UsageError
from redraft.rdk.prior import KINDS, RdkPrior
from redraft.rdk.redistribution import distribution, reference
from redraft.rdk.vocabulary import VocabMap

MAP = small_map()
EVERYTHING = VocabMap(np.arange(23, dtype=np.int32), 23, "5" * 64)
RNG = np.random.default_rng(9)
HOT, HIDDEN = RNG.normal(0, 3, size=(4, 6)), RNG.normal(size=(4, 5))
ALL_HOT = RNG.normal(0, 3, size=(4, 23))
TLI = reference(random_prior("tli", MAP), MAP, HOT)


def with_arrays(prior: RdkPrior, **arrays: np.ndarray) -> RdkPrior:
    return dataclasses.replace(prior, arrays={**prior.arrays, **arrays})


def test_the_identity_kernel_is_tli() -> None:
    kernel = np.eye(23, dtype=np.float32)[MAP.target_ids]
    for epsilon in (0.3, 1.0):
        prior = with_arrays(random_prior("dense", MAP, epsilon=epsilon), kernel=kernel)
        np.testing.assert_allclose(distribution(reference(prior, MAP, HOT)), distribution(TLI), atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "first-order"])
def test_epsilon_zero_is_tli(kind: str) -> None:
    logits = reference(random_prior(kind, MAP, epsilon=0.0), MAP, HOT)
    np.testing.assert_allclose(logits[..., MAP.target_ids], HOT, atol=1e-12)
    assert (logits[..., MAP.cold_ids] == -1e30).all()


def test_a_shift_of_zero_is_tli_bit_for_bit() -> None:
    prior = with_arrays(random_prior("shift", MAP), hot_shift=np.zeros(6, np.float32))
    assert (reference(prior, MAP, HOT) == TLI).all()


@pytest.mark.parametrize("kind", ["tli", "bucket", "low-rank", "shift"])
def test_with_nothing_pruned_the_draft_logits_are_the_logits_bit_for_bit(kind: str) -> None:
    prior = random_prior(kind, EVERYTHING)
    if "hot_shift" in prior.arrays:
        prior = with_arrays(prior, hot_shift=np.zeros(23, np.float32))
    assert (reference(prior, EVERYTHING, ALL_HOT, HIDDEN) == ALL_HOT).all()


def test_low_rank_with_all_cold_rows_and_no_shift_is_the_unpruned_drafter() -> None:
    head = RNG.normal(size=(23, 5))
    full = HIDDEN @ head.astype(np.float32).astype(np.float64).T
    arrays = {
        "state": np.eye(5, dtype=np.float32),
        "cold": head[MAP.cold_ids].astype(np.float32),
        "cold_bias": np.zeros(17, np.float32),
        "hot_shift": np.zeros(6, np.float32),
    }
    prior = RdkPrior("low-rank", MAP.digest, "b" * 64, arrays)
    logits = reference(prior, MAP, full[:, MAP.target_ids], HIDDEN)
    unpruned = np.exp(full) / np.exp(full).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(distribution(logits), unpruned, atol=1e-12)


def test_a_bucket_with_the_true_theta_and_cold_law_is_the_unpruned_drafter() -> None:
    full = RNG.normal(0, 2, size=23)
    cold = np.exp(full[MAP.cold_ids])
    arrays = {
        "state": np.zeros((1, 5), np.float32),
        "cold_log_prior": np.log(cold / cold.sum()).astype(np.float32),
    }
    prior = RdkPrior("bucket", MAP.digest, "b" * 64, arrays, {"log_num_cold": float(np.log(cold.sum()))})
    d = distribution(reference(prior, MAP, full[MAP.target_ids], np.zeros(5)))
    np.testing.assert_allclose(d, np.exp(full) / np.exp(full).sum(), rtol=1e-6)


def test_a_soft_cap_acts_on_the_cold_logits_of_low_rank_before_their_bias() -> None:
    prior = random_prior("low-rank", MAP)
    capped = reference(prior, MAP, HOT, HIDDEN * 40, soft_cap=5.0)
    arrays = prior.arrays
    state = (HIDDEN * 40) @ arrays["state"].astype(np.float64).T
    cold = 5.0 * np.tanh(state @ arrays["cold"].astype(np.float64).T / 5.0) + arrays["cold_bias"]
    joint = np.concatenate([HOT + arrays["hot_shift"], cold], axis=-1)
    weights = np.exp(joint) / np.exp(joint).sum(axis=-1, keepdims=True)
    found = distribution(capped)[:, np.concatenate([MAP.target_ids, MAP.cold_ids])]
    np.testing.assert_allclose(found, weights, atol=1e-12)


def test_bucket_is_refused_under_a_soft_cap() -> None:
    with pytest.raises(UnsupportedError, match="caps them softly"):
        reference(random_prior("bucket", MAP), MAP, HOT, HIDDEN, soft_cap=30.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_prior_of_another_map_of_the_same_size_is_refused(kind: str) -> None:
    other = small_map(seed=5)
    assert other.num_hot == MAP.num_hot
    with pytest.raises(MismatchError, match="was made for vocabulary map"):
        reference(random_prior(kind, MAP), other, HOT, HIDDEN)


def test_missing_hidden_states_and_wrong_widths_are_refused() -> None:
    with pytest.raises(UsageError, match="needs the hidden states"):
        reference(random_prior("low-rank", MAP), MAP, HOT)
    with pytest.raises(UsageError, match=r"expected \[..., 6\]"):
        reference(random_prior("tli", MAP), MAP, HOT[:, :5])
    with pytest.raises(MismatchError, match="expected E = 4, got 5"):
        reference(random_prior("low-rank", MAP), MAP, HOT, HIDDEN[:, :4])
