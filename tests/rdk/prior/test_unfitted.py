"""Unfitted priors: optimal where a theorem says so, sensible scales, every missing or wrong input named."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.rdk_cases import BODY, small_map, stochastic

from redraft._core.errors import InputFileError, UnsupportedError, UsageError
from redraft.rdk.prior import KINDS, PriorInputs, check_prior, unfitted_prior
from redraft.rdk.prior.covariance_kernels import dense_kernel
from redraft.rdk.statistics import CalibrationStatistics
from redraft.rdk.vocabulary import VocabMap

RNG = np.random.default_rng(0)
MAP = small_map(num_tokens=20)
HEAD = RNG.normal(size=(23, 5)).astype(np.float32)
STATES = RNG.normal(size=(400, 5)) @ np.diag([3.0, 1.0, 0.5, 0.1, 0.02]) @ RNG.normal(size=(5, 5))
COLD = MAP.cold_ids[MAP.cold_ids < 20]


def head_rows(target_ids: np.ndarray) -> np.ndarray:
    return HEAD[target_ids]


def statistics() -> CalibrationStatistics:
    found = CalibrationStatistics.empty(23, 5, capacity=32, support=23)
    found.add_rows(stochastic(np.random.default_rng(1), 60, MAP))
    found.add_hidden(STATES)
    return found


def inputs(kind: str) -> PriorInputs:
    return PriorInputs.from_statistics(kind, statistics(), MAP, BODY, head_rows=head_rows)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_starts_from_one_calibration_run(kind: str) -> None:
    prior = unfitted_prior(kind, inputs(kind), rank=2 if kind == "low-rank" else None)
    check_prior(prior, MAP, body_digest=BODY, hidden_size=5)
    assert prior.fit == {"method": "unfitted", "data_digest": statistics().digest}


def error_of(state: np.ndarray, cold: np.ndarray) -> float:
    """Mean squared error of the cold logits over the states."""
    true = STATES @ HEAD[COLD].T.astype(np.float64)
    return float(((true - STATES @ state.T.astype(np.float64) @ cold.T.astype(np.float64)) ** 2).mean())


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_low_rank_reaches_the_least_error_of_its_rank_on_the_states(rank: int) -> None:
    prior = unfitted_prior("low-rank", inputs("low-rank"), rank=rank)
    tokens = np.flatnonzero(MAP.cold_ids < 20)
    found = error_of(prior.arrays["state"], prior.arrays["cold"][tokens])
    true = STATES @ HEAD[COLD].T.astype(np.float64)  # Eckart-Young on the logits themselves
    singular = np.linalg.svd(true, compute_uv=False)
    best = float((singular[rank:] ** 2).sum() / true.size)
    assert found == pytest.approx(best, rel=1e-3, abs=1e-9)


def test_weighing_by_the_states_beats_a_plain_svd_of_the_head() -> None:
    prior = unfitted_prior("low-rank", inputs("low-rank"), rank=1)
    tokens = np.flatnonzero(MAP.cold_ids < 20)
    u, s, v = np.linalg.svd(HEAD[COLD], full_matrices=False)
    plain = error_of(v[:1], u[:, :1] * s[:1])
    assert error_of(prior.arrays["state"], prior.arrays["cold"][tokens]) < 0.8 * plain


def test_low_rank_of_full_rank_is_the_head_and_padding_rows_are_zero() -> None:
    arrays = unfitted_prior("low-rank", inputs("low-rank")).arrays
    assert arrays["state"].shape == (5, 5)
    tokens = MAP.cold_ids < 20
    np.testing.assert_allclose(arrays["cold"][tokens] @ arrays["state"], HEAD[COLD], atol=2e-3)
    assert (arrays["cold"][~tokens] == 0).all()
    assert not arrays["hot_shift"].any()
    assert not arrays["cold_bias"].any()


def test_low_rank_survives_states_that_span_less_than_the_hidden_size() -> None:
    flat = np.outer(np.ones(4), np.arange(5.0))
    moment = flat.T @ flat / 4
    prior = unfitted_prior("low-rank", PriorInputs(MAP, BODY, head_rows, second_moment=moment), rank=3)
    check_prior(prior, MAP)
    tokens = MAP.cold_ids < 20
    logits = prior.arrays["cold"][tokens] @ prior.arrays["state"] @ np.arange(5.0)
    np.testing.assert_allclose(logits, HEAD[COLD] @ np.arange(5.0), atol=1e-3)


def test_low_rank_reads_the_head_in_chunks_of_pruned_tokens_only() -> None:
    seen: list[np.ndarray] = []
    rows = np.random.default_rng(0).normal(size=(20_000, 4)).astype(np.float32)

    def chunk(target_ids: np.ndarray) -> np.ndarray:
        seen.append(target_ids)
        return rows[target_ids]

    vocab_map = small_map(20_000, 1_000)
    unfitted_prior("low-rank", PriorInputs(vocab_map, BODY, chunk, second_moment=np.eye(4)), rank=2)
    assert max(len(ids) for ids in seen) <= 8192
    assert not set(np.concatenate(seen).tolist()) & set(vocab_map.target_ids.tolist())


def test_the_bucket_row_is_the_mean_cold_row_and_its_prior_the_target_restricted_to_cold_tokens() -> None:
    prior = unfitted_prior("bucket", inputs("bucket"))
    np.testing.assert_allclose(prior.arrays["state"][0], HEAD[COLD].mean(axis=0), rtol=1e-5)
    assert prior.scalars["log_num_cold"] == pytest.approx(np.log(COLD.size))
    mean = statistics().rows.mean[COLD]
    weights = np.exp(prior.arrays["cold_log_prior"][: COLD.size])
    np.testing.assert_allclose(weights, mean / mean.sum(), rtol=1e-4)


@pytest.mark.parametrize("kind", ["bucket", "low-rank"])
def test_nothing_pruned_gives_an_empty_prior_that_is_valid(kind: str) -> None:
    everything = VocabMap(np.arange(23, dtype=np.int32), 23, "5" * 64)
    given = PriorInputs(everything, BODY, head_rows, mean_target=np.full(23, 1 / 23), second_moment=np.eye(5))
    check_prior(unfitted_prior(kind, given), everything, hidden_size=5)


def test_the_dense_kernel_is_row_stochastic_and_gives_each_row_its_own_temperature() -> None:
    kernel = unfitted_prior("dense", inputs("dense")).arrays["kernel"].astype(np.float64)
    np.testing.assert_allclose(kernel.sum(axis=1), 1.0, atol=1e-6)
    assert (kernel[:, 20:] == 0).all()
    scaled = dense_kernel(MAP, statistics().sample.factor(8) * 1e-4)
    np.testing.assert_allclose(scaled, kernel_of_rank(8), atol=1e-5)


def kernel_of_rank(rank: int) -> np.ndarray:
    return dense_kernel(MAP, statistics().sample.factor(rank))


def test_a_common_temperature_far_above_the_covariance_makes_every_row_uniform() -> None:
    kernel = unfitted_prior("dense", inputs("dense"), tau=1e6).arrays["kernel"]
    np.testing.assert_allclose(kernel[:, :20], 1 / 20, rtol=1e-5)


def test_a_dense_kernel_above_one_gib_is_refused_with_its_size() -> None:
    vocab_map = small_map(262_144, 26_214)
    given = PriorInputs(vocab_map, BODY, covariance_factor=np.zeros((262_144, 1), np.float32))
    with pytest.raises(UnsupportedError, match=r"needs 25\.6 GiB, above the limit of 1 GiB"):
        unfitted_prior("dense", given)


@pytest.mark.parametrize(
    ("kind", "options", "phrase"),
    [
        ("gram", {}, "'gram' is unknown"),
        ("dense", {}, "needs the target's covariance"),
        ("first-order", {}, "needs the target's covariance"),
        ("bucket", {}, "needs the head's rows"),
        ("low-rank", {}, "needs the head's rows"),
        ("dense", {"epsilon": 1.1}, "epsilon must lie in"),
        ("dense", {"epsilon": float("nan")}, "epsilon must lie in"),
        ("dense", {"tau": 0.0}, "tau must be positive"),
    ],
)
def test_missing_statistics_and_options_out_of_range_are_named(
    kind: str, options: dict[str, float], phrase: str
) -> None:
    with pytest.raises(UsageError, match=phrase):
        unfitted_prior(kind, PriorInputs(MAP, BODY), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("rank", [0, -1, 6])
def test_a_rank_outside_the_hidden_size_is_refused(rank: int) -> None:
    with pytest.raises(UsageError, match=f"must be 1 to 5, got {rank}"):
        unfitted_prior("low-rank", inputs("low-rank"), rank=rank)


def test_bucket_under_a_soft_cap_is_refused() -> None:
    given = PriorInputs(MAP, BODY, head_rows, mean_target=np.full(23, 1 / 23), soft_cap=30.0)
    with pytest.raises(UnsupportedError, match="caps them softly"):
        unfitted_prior("bucket", given)


def test_statistics_of_another_model_are_refused() -> None:
    with pytest.raises(InputFileError, match=r"expected \[23, r\]"):
        unfitted_prior("dense", PriorInputs(MAP, BODY, covariance_factor=np.zeros((22, 2))))
    with pytest.raises(InputFileError, match=r"expected finite \[E, E\]"):
        unfitted_prior("low-rank", PriorInputs(MAP, BODY, head_rows, second_moment=np.zeros((5, 4))))
