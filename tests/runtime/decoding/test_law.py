"""Law: probabilities, quantiles, masses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft._core.errors import RedraftError
from redraft.runtime.decoding import Law


def dense(*weights: float) -> Law:
    return Law(np.array(weights, np.float32))


def test_probabilities_are_weights_by_their_total() -> None:
    law = dense(1, 0, 3)
    assert [law.prob(i) for i in range(4)] == [0.25, 0.0, 0.75, 0.0]
    assert law.probs().tolist() == [0.25, 0.0, 0.75]


def test_sparse_law_has_no_probability_outside_its_support() -> None:
    law = Law(np.array([1, 3], np.float32), np.array([2, 9]))
    assert [law.prob(i) for i in (0, 2, 5, 9, 10)] == [0.0, 0.25, 0.0, 0.75, 0.0]
    assert law.probs(np.array([9, 1, 2, 50])).tolist() == [0.75, 0.0, 0.25, 0.0]


def test_one_hot_law_is_certain() -> None:
    law = Law.one_hot(7)
    assert law.certain_id == 7
    assert law.prob(7) == 1.0
    assert law.prob(6) == 0.0
    assert law.at(0.999) == 7


@pytest.mark.parametrize("weights", [[], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_law_without_a_positive_finite_total_is_refused(weights: list[float]) -> None:
    with pytest.raises(RedraftError, match="positive, finite total"):
        Law(np.array(weights, np.float32), np.arange(len(weights)))


def test_quantile_is_strict_and_skips_tokens_without_probability() -> None:
    law = dense(0, 1, 0, 1, 0)
    assert law.at(0.0) == 1
    assert law.at(np.nextafter(0.5, 0)) == 1
    assert law.at(0.5) == 3
    assert law.at(np.nextafter(1.0, 0)) == 3


@given(
    st.lists(st.sampled_from([0.0, 1e-30, 1e-7, 0.3, 1.0, 17.0]), min_size=1, max_size=1500).filter(any),
    st.floats(0, 1, exclude_max=True),
)
def test_quantile_never_has_zero_weight_and_agrees_with_a_whole_running_total(
    weights: list[float], u: float
) -> None:
    law = dense(*weights)
    chosen = law.at(u)
    assert weights[chosen] > 0
    running = np.cumsum(np.array(weights, np.float32), dtype=np.float64)
    slack = 1e-12 * running[-1]
    assert running[chosen] >= u * running[-1] - slack
    assert (running[chosen - 1] if chosen else 0.0) <= u * running[-1] + slack


def test_quantiles_hit_every_id_in_proportion() -> None:
    weights = np.arange(1200) % 7
    law = dense(*weights)
    grid = (np.arange(int(weights.sum())) + 0.5) / weights.sum()
    assert np.bincount([law.at(u) for u in grid], minlength=1200).tolist() == weights.tolist()


@pytest.mark.parametrize("size", [1, 5, 511, 512, 513, 1024, 5000])
def test_total_covers_the_last_partial_block(size: int) -> None:
    weights = np.random.default_rng(size).random(size).astype(np.float32)
    assert Law(weights).total == pytest.approx(float(weights.astype(np.float64).sum()), rel=1e-14)


def test_mass_of_a_set_is_the_same_dense_and_sparse() -> None:
    weights = np.random.default_rng(0).random(40).astype(np.float32)
    member = np.arange(40) % 3 == 0
    ids = np.flatnonzero(member)
    expected = float(weights[member].astype(np.float64).sum() / weights.astype(np.float64).sum())
    assert Law(weights).mass(ids, member) == pytest.approx(expected, rel=1e-12)
    assert Law(weights, np.arange(40)).mass(ids, member) == pytest.approx(expected, rel=1e-12)


def test_mass_ignores_members_that_are_padding_rows() -> None:
    member = np.array([True, False, True, True])
    assert dense(1, 1).mass(np.flatnonzero(member), member) == 0.5
