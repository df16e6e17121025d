"""The golden vectors of redistribution, computed apart from this code."""

from __future__ import annotations

import numpy as np
import pytest

from redraft.rdk.acceptance import expected_acceptance
from redraft.rdk.prior import PriorInputs, RdkPrior, unfitted_prior
from redraft.rdk.redistribution import distribution, reference
from redraft.rdk.vocabulary import VocabMap

FULL = np.array([2.0, 1.0, 0.0, -1.0, 0.5, -0.5])
MEAN = np.array([0.30, 0.20, 0.10, 0.05, 0.25, 0.10])
TARGET = np.array([0.35, 0.15, 0.20, 0.05, 0.15, 0.10])
HOT = VocabMap(np.array([0, 1, 4], np.int32), 6, "5" * 64)
HIDDEN = np.ones(1)


def head_rows(target_ids: np.ndarray) -> np.ndarray:
    """A head of hidden size 1 whose logits at h = 1 are `FULL`."""
    return FULL[target_ids, None].astype(np.float32)


def bucket() -> RdkPrior:
    return unfitted_prior("bucket", PriorInputs(HOT, "b" * 64, head_rows, mean_target=MEAN))


def d_of(prior: RdkPrior) -> np.ndarray:
    return distribution(reference(prior, HOT, FULL[HOT.target_ids], HIDDEN))


def test_bucket_matches_its_golden_vector() -> None:
    prior = bucket()
    cold_logit = prior.scalars["log_num_cold"] + float(prior.arrays["state"][0] @ HIDDEN)
    assert cold_logit == pytest.approx(0.598612, abs=1e-6)
    d = d_of(prior)
    assert d[[2, 3, 5]].sum() == pytest.approx(0.134033, abs=1e-6)
    np.testing.assert_allclose(d, [0.544287, 0.200232, 0.053613, 0.026807, 0.121447, 0.053613], atol=1e-6)


def test_tli_matches_its_golden_vector() -> None:
    tli = unfitted_prior("tli", PriorInputs(HOT, "b" * 64))
    np.testing.assert_allclose(d_of(tli), [0.628532, 0.231224, 0, 0, 0.140244, 0], atol=1e-6)


def test_acceptances_of_the_bucket_example_match() -> None:
    full = np.exp(FULL) / np.exp(FULL).sum()
    tli = d_of(unfitted_prior("tli", PriorInputs(HOT, "b" * 64)))
    assert expected_acceptance(TARGET, full) == pytest.approx(0.763875, abs=1e-6)
    assert expected_acceptance(TARGET, tli) == pytest.approx(0.640244, abs=1e-6)
    assert expected_acceptance(TARGET, d_of(bucket())) == pytest.approx(0.755480, abs=1e-6)


ROWS = np.array([[0.5, 0.3, 0.1, 0.1], [0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.6, 0.2]])
CENTRED = ROWS - ROWS.mean(axis=0)
FACTOR = CENTRED.T / np.sqrt(3)
TWO = VocabMap(np.array([0, 1], np.int32), 4, "5" * 64)
S = np.array([0.7, 0.3])
OMEGA = [
    [0.028889, 0.017778, -0.038889, -0.007778],
    [0.017778, 0.015556, -0.027778, -0.005556],
    [-0.038889, -0.027778, 0.055556, 0.011111],
    [-0.007778, -0.005556, 0.011111, 0.002222],
]


def covariance_d(kind: str, tau: float) -> np.ndarray:
    inputs = PriorInputs(TWO, "b" * 64, covariance_factor=FACTOR)
    return distribution(reference(unfitted_prior(kind, inputs, epsilon=1.0, tau=tau), TWO, np.log(S)))


def test_the_example_covariance_is_the_golden_one() -> None:
    np.testing.assert_allclose(FACTOR @ FACTOR.T, OMEGA, atol=1e-6)
    assert np.abs((FACTOR @ FACTOR.T).sum(axis=1)).max() < 1e-12


@pytest.mark.parametrize(
    ("tau", "dense"),
    [
        (1.0, [0.256401, 0.254241, 0.241201, 0.248157]),
        (0.05, [0.376195, 0.316887, 0.111481, 0.195437]),
        (0.01, [0.67348, 0.295838, 0.00224, 0.028442]),
    ],
)
def test_the_dense_covariance_kernel_matches_its_golden_vector(tau: float, dense: list[float]) -> None:
    np.testing.assert_allclose(covariance_d("dense", tau), dense, atol=1e-6)


@pytest.mark.parametrize(
    ("tau", "first_order"),
    [(1.0, [0.256389, 0.254278, 0.241111, 0.248222]), (0.05, [0.377778, 0.335556, 0.072222, 0.214444])],
)
def test_the_first_order_kernel_matches_its_golden_vector(tau: float, first_order: list[float]) -> None:
    np.testing.assert_allclose(covariance_d("first-order", tau), first_order, atol=1e-6)


def test_a_negative_first_order_entry_is_clamped_and_the_rest_renormalised() -> None:
    raw = (1 + (OMEGA @ np.array([0.7, 0.3, 0, 0])) / 0.01) / 4
    assert raw[2] == pytest.approx(-0.638889, abs=1e-4)
    d = covariance_d("first-order", 0.01)
    assert d[2] == 0.0
    expected = np.maximum(raw, 0) / np.maximum(raw, 0).sum()
    np.testing.assert_allclose(d, expected, atol=1e-4)


def test_the_jensen_bound_is_as_loose_as_the_golden_figures_say() -> None:
    logits = np.random.default_rng(0).normal(0, 3, size=(400, 1000))
    exact = np.log(np.exp(logits).sum(axis=1)).mean()
    bound = (np.log(1000) + logits.mean(axis=1)).mean()
    assert exact == pytest.approx(11.07, abs=0.35)
    assert bound == pytest.approx(6.9, abs=0.35)
