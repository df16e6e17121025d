"""Statistics equal their two-pass definitions, whatever the batches and shards were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from redraft._core.errors import InputFileError, MismatchError, UsageError
from redraft.rdk.array_file import read_arrays
from redraft.rdk.statistics import CalibrationStatistics, HiddenMoments, RowMoments, RowSample

RNG = np.random.default_rng(0)
ROWS = RNG.dirichlet(np.full(12, 0.4), size=40)
STATES = RNG.normal(2.0, 1.0, size=(40, 3))


def full(batches: list[int], **options: int) -> CalibrationStatistics:
    found = CalibrationStatistics.empty(12, 3, **options)
    for part in np.split(np.arange(40), np.cumsum(batches)):
        found.add_rows(ROWS[part])
        found.add_hidden(STATES[part])
    return found


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, 12), max_size=4), st.integers(0, 40))
def test_batches_and_shards_change_nothing(batches: list[int], cut: int) -> None:
    whole = full([], capacity=7, support=12, seed=5)
    pieces = full(batches, capacity=7, support=12, seed=5)
    left = CalibrationStatistics.empty(12, 3, capacity=7, support=12, seed=5)
    right = CalibrationStatistics.empty(12, 3, capacity=7, support=12, seed=5)
    left.add_rows(ROWS[:cut], first_index=0)
    right.add_rows(ROWS[cut:], first_index=cut)
    left.add_hidden(STATES[:cut])
    right.add_hidden(STATES[cut:])
    right.merge(left)
    for found in (pieces, right):
        assert found.rows.count == found.hidden.count == found.sample.count == 40
        np.testing.assert_allclose(found.rows.mean, whole.rows.mean, atol=1e-14)
        np.testing.assert_allclose(found.rows.variance, whole.rows.variance, atol=1e-14)
        np.testing.assert_allclose(found.hidden.second_moment, whole.hidden.second_moment, atol=1e-12)
        np.testing.assert_array_equal(found.sample.priorities, whole.sample.priorities)
        np.testing.assert_array_equal(found.sample.factor(), whole.sample.factor())


def test_moments_equal_their_definitions() -> None:
    found = full([3, 9])
    np.testing.assert_allclose(found.rows.mean, ROWS.mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(found.rows.variance, ROWS.var(axis=0, ddof=1), atol=1e-15)
    np.testing.assert_allclose(found.hidden.mean, STATES.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(found.hidden.second_moment, STATES.T @ STATES / 40, atol=1e-13)


def test_variance_does_not_cancel_for_rare_tokens() -> None:
    found = RowMoments.empty(2)
    tail = np.array([1e-12, 3e-12])
    found.add(np.stack([1 - tail, tail], axis=1))
    assert found.variance[1] == pytest.approx(2e-24, rel=1e-6)


def test_the_factor_of_all_rows_is_the_population_covariance_with_rows_that_sum_to_zero() -> None:
    factor = full([], capacity=64, support=12).sample.factor().astype(np.float64)
    omega = factor @ factor.T
    np.testing.assert_allclose(omega, np.cov(ROWS.T, ddof=0), atol=1e-7)
    assert np.abs(omega.sum(axis=1)).max() < 1e-7


def test_a_factor_of_lower_rank_is_the_best_one() -> None:
    sample = full([], capacity=64, support=12).sample
    omega = np.cov(ROWS.T, ddof=0)
    values, vectors = np.linalg.eigh(omega)
    for rank in (1, 3, 11):
        factor = sample.factor(rank).astype(np.float64)
        best = (vectors[:, -rank:] * values[-rank:]) @ vectors[:, -rank:].T
        assert factor.shape == (12, rank)
        np.testing.assert_allclose(factor @ factor.T, best, atol=1e-6)


def test_a_sample_keeps_the_largest_entries_renormalised_in_linear_memory() -> None:
    sample = RowSample.empty(12, capacity=5, support=4)
    sample.add(ROWS)
    assert sample.ids.shape == sample.probs.shape == (5, 4)
    np.testing.assert_allclose(sample.probs.sum(axis=1), 1.0, atol=1e-6)
    for ids, probs in zip(sample.ids, sample.probs, strict=True):
        source = ROWS[np.argmin([np.abs(r[ids] / r[ids].sum() - probs).sum() for r in ROWS])]
        assert source[ids].min() >= np.delete(source, ids).max()
        np.testing.assert_allclose(source[ids] / source[ids].sum(), probs, atol=1e-6)


def test_every_row_is_as_likely_to_stay_in_the_sample() -> None:
    # 200 seeds, 4 of 16 rows each: 50 +- 6.1 a row; 5 standard deviations are 30
    kept = np.zeros(16)
    for seed in range(200):
        sample = RowSample.empty(16, capacity=4, support=1, seed=seed)
        sample.add(np.eye(16))
        kept[sample.ids[:, 0]] += 1
    assert kept.sum() == 800
    assert np.abs(kept - 50).max() < 30


@pytest.mark.parametrize(
    ("rows", "phrase"),
    [
        (np.full((1, 11), 1 / 11), r"expected \[n, 12\], got \[1, 11\]"),
        (np.full((1, 12), np.nan), "not finite"),
        (np.eye(12)[:1] * 2 - 1 / 12, r"outside \[0, 1\]"),
        (np.full((1, 12), 1 / 12.01), "row 0 sums to 0.999167, not to 1"),
    ],
)
def test_rows_that_are_no_distributions_are_refused_before_they_count(rows: np.ndarray, phrase: str) -> None:
    found = CalibrationStatistics.empty(12, 3)
    with pytest.raises(InputFileError, match=phrase):
        found.add_rows(rows)
    assert found.rows.count == found.sample.count == 0


def test_hidden_states_of_another_size_or_not_finite_are_refused() -> None:
    found = HiddenMoments.empty(3)
    with pytest.raises(InputFileError, match=r"expected \[n, 3\]"):
        found.add(np.zeros((2, 4)))
    with pytest.raises(InputFileError, match="not finite"):
        found.add(np.full((2, 3), np.inf))
    with pytest.raises(UsageError, match="no hidden state was seen"):
        _ = found.second_moment


def test_shards_that_do_not_fit_are_refused() -> None:
    with pytest.raises(MismatchError, match="do not fit"):
        RowMoments.empty(3).merge(RowMoments.empty(4))
    with pytest.raises(MismatchError, match="cannot be merged"):
        RowSample.empty(3, seed=1).merge(RowSample.empty(3, seed=2))
    with pytest.raises(MismatchError, match="do not fit"):
        HiddenMoments.empty(3).merge(HiddenMoments.empty(4))


def test_too_small_samples_and_wrong_ranks_are_refused() -> None:
    sample = RowSample.empty(12)
    with pytest.raises(UsageError, match="at least two sampled rows"):
        sample.factor()
    sample.add(ROWS)
    with pytest.raises(UsageError, match="must be 1 to 40, got 41"):
        sample.factor(41)
    with pytest.raises(UsageError, match="needs room"):
        RowSample.empty(12, capacity=0)


def test_saved_statistics_come_back_and_changes_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "statistics.safetensors"
    whole = full([4], capacity=7, support=5, seed=2)
    whole.save(path)
    found = CalibrationStatistics.load(path)
    assert found.digest == whole.digest
    found.add_rows(ROWS[:3])
    whole.add_rows(ROWS[:3])
    assert found.digest == whole.digest
    arrays, metadata = read_arrays(path)
    save_file({**arrays, "mean": arrays["mean"] * 2}, path, metadata=metadata)
    with pytest.raises(MismatchError, match="changed after it was written"):
        CalibrationStatistics.load(path)
    save_file({"mean": arrays["mean"]}, path)
    with pytest.raises(InputFileError, match="holds no calibration statistics"):
        CalibrationStatistics.load(path)
