"""Priors as files, and what makes a prior well formed or a stranger."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.support.rdk_cases import BODY, random_prior, small_map

from redraft._core.errors import InputFileError, MismatchError
from redraft.rdk.array_file import read_arrays
from redraft.rdk.prior import KINDS, RdkPrior, check_arrays, check_prior, load_prior

MAP = small_map()


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_prior_comes_back_with_the_same_digest(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "rdk_prior.safetensors"
    prior = dataclasses.replace(random_prior(kind, MAP), fit={"method": "unfitted", "seed": 3})
    prior.save(path)
    found = load_prior(path)
    assert found.digest == prior.digest
    assert (found.kind, found.map_digest, found.body_digest) == (kind, MAP.digest, BODY)
    assert (found.scalars, found.fit) == (prior.scalars, prior.fit)
    for name, array in prior.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], array)


def test_the_digest_covers_everything_that_changes_d_and_not_its_history() -> None:
    prior = random_prior("first-order", MAP)
    other = {
        dataclasses.replace(prior, map_digest="0" * 64).digest,
        dataclasses.replace(prior, body_digest="0" * 64).digest,
        dataclasses.replace(prior, scalars={**prior.scalars, "epsilon": 0.2}).digest,
        dataclasses.replace(prior, arrays={"factor": prior.arrays["factor"] * 2}).digest,
        random_prior("tli", MAP).digest,
        prior.digest,
    }
    assert len(other) == 6
    assert dataclasses.replace(prior, fit={"seed": 1}).digest == prior.digest


def test_changed_arrays_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "rdk_prior.safetensors"
    random_prior("shift", MAP).save(path)
    arrays, metadata = read_arrays(path)
    save_file({"hot_shift": arrays["hot_shift"] + 1}, path, metadata=metadata)
    with pytest.raises(MismatchError, match="but it was written with"):
        load_prior(path)


def test_files_that_are_no_prior_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rdk_prior.safetensors"
    with pytest.raises(InputFileError, match="does not exist"):
        load_prior(path)
    save_file({"x": np.zeros(2, np.float32)}, path)
    with pytest.raises(InputFileError, match="is no prior of redraft"):
        load_prior(path)
    save_file({"x": np.zeros(2, np.float32)}, path, metadata={"prior": "[1]"})
    with pytest.raises(InputFileError, match="is no prior of redraft"):
        load_prior(path)


BUCKET = random_prior("bucket", MAP)


@pytest.mark.parametrize(
    ("changes", "phrase"),
    [
        ({"kind": "gram"}, "prior kind 'gram' is unknown"),
        ({"arrays": {}}, "expected the arrays ['cold_log_prior', 'state'], got []"),
        (
            {"arrays": {**BUCKET.arrays, "state": np.zeros((1, 5))}},
            "expected float32 [1, E], got float64 [1, 5]",
        ),
        ({"arrays": {**BUCKET.arrays, "state": np.zeros(5, np.float32)}}, "expected float32 [1, E]"),
        ({"arrays": {**BUCKET.arrays, "state": np.full((1, 5), np.nan, np.float32)}}, "not finite"),
        ({"scalars": {}}, "expected the scalars ['log_num_cold'], got []"),
        ({"scalars": {"log_num_cold": float("inf")}}, "must be a finite number"),
        ({"scalars": {"log_num_cold": "3"}}, "must be a finite number"),
    ],
)
def test_malformed_priors_are_refused_and_never_written(
    changes: dict[str, Any], phrase: str, tmp_path: Path
) -> None:
    prior = dataclasses.replace(BUCKET, **changes)
    with pytest.raises(InputFileError) as error:
        check_arrays(prior)
    assert phrase in error.value.message
    with pytest.raises(InputFileError):
        prior.save(tmp_path / "rdk_prior.safetensors")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("scalars", "phrase"),
    [
        ({"epsilon": 1.5, "tau": 1.0}, "must lie in"),
        ({"epsilon": -0.1, "tau": 1.0}, "must lie in"),
        ({"epsilon": 0.1, "tau": 0.0}, "must be positive"),
    ],
)
def test_scalars_out_of_range_are_refused(scalars: dict[str, float], phrase: str) -> None:
    prior = dataclasses.replace(random_prior("first-order", MAP), scalars=scalars)
    with pytest.raises(InputFileError, match=phrase):
        check_arrays(prior)


def test_a_prior_of_another_map_or_body_is_refused_naming_both_and_the_command() -> None:
    prior = random_prior("tli", MAP)
    check_prior(prior, MAP, body_digest=BODY)
    with pytest.raises(MismatchError) as error:
        check_prior(prior, small_map(seed=4))
    assert MAP.digest[:12] in error.value.message
    assert small_map(seed=4).digest[:12] in error.value.message
    with pytest.raises(MismatchError) as error:
        check_prior(prior, MAP, body_digest="c" * 64)
    assert "drafter body bbbbbbbbbbbb, not for cccccccccccc" in error.value.message
    assert error.value.hint is not None
    assert "redraft prior fit" in error.value.hint


@pytest.mark.parametrize("kind", ["shift", "dense", "first-order", "bucket", "low-rank"])
def test_arrays_of_another_size_than_the_map_are_refused(kind: str) -> None:
    prior = random_prior(kind, small_map(rows=25, hot=7))
    forged = dataclasses.replace(prior, map_digest=MAP.digest)
    with pytest.raises(MismatchError, match="expected"):
        check_prior(forged, MAP)


def test_another_hidden_size_or_rank_is_refused() -> None:
    prior = random_prior("low-rank", MAP)
    check_prior(prior, MAP, hidden_size=5)
    with pytest.raises(MismatchError, match="expected E = 6, got 5"):
        check_prior(prior, MAP, hidden_size=6)
    cold = np.zeros((MAP.num_cold, 2), np.float32)
    with pytest.raises(MismatchError, match="expected r = 3, got 2"):
        check_prior(dataclasses.replace(prior, arrays={**prior.arrays, "cold": cold}), MAP)


def test_rank_is_the_width_of_the_prior_state() -> None:
    ranks = {kind: random_prior(kind, MAP).rank for kind in KINDS}
    assert ranks == {"tli": 0, "shift": 0, "dense": 0, "first-order": 0, "bucket": 1, "low-rank": 3}


def test_loading_through_the_class_is_the_same(tmp_path: Path) -> None:
    random_prior("tli", MAP).save(tmp_path / "p.safetensors")
    assert RdkPrior.load(tmp_path / "p.safetensors").digest == random_prior("tli", MAP).digest
