"""The warp equals its definition, and refuses what has no law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.enumeration_cells import WARPS
from tests.support.warp_oracle import warp_oracle

from redraft._core.errors import RedraftError, RequestError
from redraft.runtime.decoding import Law, WarpParams, warp


def probabilities(law: Law, size: int) -> np.ndarray:
    return np.array([law.prob(i) for i in range(size)])


@pytest.mark.parametrize("name", WARPS)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 700), spread=st.sampled_from([0.3, 2.0, 12.0]))
def test_warp_equals_its_definition(name: str, seed: int, size: int, spread: float) -> None:
    logits = np.random.default_rng(seed).normal(0, spread, size).astype(np.float32)
    law = warp(logits, WARPS[name])
    np.testing.assert_allclose(probabilities(law, size), warp_oracle(logits, WARPS[name]), atol=3e-6)


@pytest.mark.parametrize("name", WARPS)
def test_warp_ignores_sentinels_and_padding_rows(name: str) -> None:
    logits = np.random.default_rng(4).normal(0, 2, 300).astype(np.float32)
    logits[50:120] = -1e30
    logits[280:] = 90.0  # garbage in padding rows must not matter
    probs = probabilities(warp(logits, WARPS[name], num_tokens=280), 300)
    np.testing.assert_allclose(probs, warp_oracle(logits, WARPS[name], 280), atol=3e-6)
    assert not probs[50:120].any()
    assert not probs[280:].any()


def test_temperature_zero_is_one_hot_at_the_lowest_of_the_best_ids() -> None:
    law = warp(np.array([1, 5, 5, 2], np.float32), WarpParams(temperature=0))
    assert law.certain_id == 1


def test_greedy_never_takes_a_padding_row() -> None:
    assert warp(np.array([1, 2, 9], np.float32), WarpParams(0), num_tokens=2).certain_id == 1


def test_top_k_breaks_ties_by_the_lowest_id() -> None:
    law = warp(np.array([0, 3, 1, 1, 1], np.float32), WarpParams(top_k=2))
    assert law.support()[0].tolist() == [1, 2]


def test_top_p_is_taken_of_the_law_that_top_k_left() -> None:
    logits = np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32))
    # of {.4, .3} renormalised the first alone has .571; of the whole row it takes two tokens to reach .55
    assert warp(logits, WarpParams(top_k=2, top_p=0.55)).support()[0].tolist() == [0]
    assert warp(logits, WarpParams(top_p=0.55)).support()[0].tolist() == [0, 1]


def test_min_p_is_relative_to_the_largest_probability() -> None:
    logits = np.log(np.array([0.5, 0.26, 0.24], np.float32))
    assert warp(logits, WarpParams(min_p=0.5)).support()[0].tolist() == [0, 1]


def test_low_temperature_does_not_overflow() -> None:
    logits = np.array([1e4, -1e4, 9999.0, -1e30], np.float32)
    with np.errstate(all="raise"):
        law = warp(logits, WarpParams(temperature=0.001))
    assert law.prob(0) == 1.0
    assert law.prob(3) == 0.0


def test_dense_law_lives_in_the_given_buffer() -> None:
    buffer = np.empty(8, np.float32)
    law = warp(np.arange(6, dtype=np.float32), WarpParams(), num_tokens=5, out=buffer)
    assert np.shares_memory(law.weights, buffer)
    assert law.weights.size == 5


@pytest.mark.parametrize("params", [WarpParams(0), WarpParams(), WarpParams(top_k=2)])
@pytest.mark.parametrize(("top", "phrase"), [(np.nan, "nan"), (np.inf, "inf"), (-1e30, "no token has")])
def test_logits_without_a_law_are_refused(params: WarpParams, top: float, phrase: str) -> None:
    with pytest.raises(RedraftError, match=phrase):
        warp(np.array([-1e30, top, -1e30], np.float32), params)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -0.1),
        ("temperature", 1e-4),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("top_k", -2),
        ("top_p", 0.0),
        ("top_p", 1.01),
        ("top_p", float("nan")),
        ("min_p", -0.01),
        ("min_p", 1.5),
    ],
)
def test_parameter_out_of_range_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(RequestError, match=field) as caught:
        WarpParams(**{field: value})
    assert caught.value.param == field
