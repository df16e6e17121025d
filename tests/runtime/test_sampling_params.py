"""SamplingParams: ranges, refusals by name, nearest names."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from redraft._core.errors import RequestError
from redraft.runtime import SamplingParams
from redraft.runtime.decoding import WarpParams


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 2),
        ("presence_penalty", 0.5),
        ("frequency_penalty", 0.5),
        ("repetition_penalty", 1.1),
        ("min_tokens", 3),
        ("logprobs", 0),
        ("prompt_logprobs", 1),
        ("logit_bias", {1: 2.0}),
        ("allowed_token_ids", [1]),
        ("bad_words", ["x"]),
    ],
)
def test_what_is_not_supported_yet_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(RequestError, match=f"{name} is not supported yet") as caught:
        SamplingParams(**{name: value})
    assert caught.value.param == name
    SamplingParams(**{name: SamplingParams.default(name)})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -1.0),
        ("temperature", "hot"),
        ("temperature", True),
        ("top_k", 1.5),
        ("top_k", -3),
        ("top_p", 0.0),
        ("min_p", 2.0),
        ("seed", -1),
        ("seed", 2**64),
        ("seed", 1.0),
        ("max_tokens", 0),
        ("max_tokens", 2.5),
        ("stop", ""),
        ("stop", ["a", ""]),
        ("stop", [1]),
        ("stop", 7),
        ("stop_token_ids", [-1]),
        ("stop_token_ids", ["a"]),
        ("stop_token_ids", 3),
        ("ignore_eos", 1),
        ("skip_special_tokens", "yes"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(RequestError, match=name) as caught:
        SamplingParams(**{name: value})
    assert caught.value.param == name


@pytest.mark.parametrize(
    ("name", "nearest"), [("temprature", "temperature"), ("max_token", "max_tokens"), ("topp", "top_p")]
)
def test_an_unknown_name_is_refused_with_the_nearest_known_one(name: str, nearest: str) -> None:
    with pytest.raises(RequestError, match=f"no option '{name}'; did you mean '{nearest}'"):
        SamplingParams(**{name: 1})


def test_parameters_are_frozen_and_copy_and_pickle() -> None:
    params = SamplingParams(temperature=0.5, stop=["a"], seed=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        params.seed = 4  # type: ignore[misc]
    assert copy.deepcopy(params) == pickle.loads(pickle.dumps(params)) == params
    assert dataclasses.replace(params, seed=4).seed == 4


def test_the_warp_is_the_same_parameters_in_the_loops_terms() -> None:
    params = SamplingParams(temperature=1, top_k=-1, top_p=1, min_p=0)
    assert params.warp == WarpParams(1.0, -1, 1.0, 0.0)
    assert params.warp.is_dense
    assert SamplingParams(temperature=0).warp.is_greedy


def test_one_stop_string_and_several_are_both_taken() -> None:
    assert SamplingParams(stop="a").stop_strings == ("a",)
    assert SamplingParams(stop=["a", "b"]).stop_strings == ("a", "b")
    assert SamplingParams().stop_strings == ()
