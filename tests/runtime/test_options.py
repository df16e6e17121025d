"""How options of the caller, the config and the bundle come together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft._core.errors import InputFileError, MismatchError, RedraftError, UsageError
from redraft.runtime.options import LLMOptions, bundle_defaults, resolve_options

NONE: dict[str, Any] = {
    "drafter": ("self", "package:x"),
    "context": None,
    "cache_capacity": None,
    "threads": None,
    "num_speculative_tokens": None,
    "draft_policy": None,
    "speculative": True,
    "speculative_config": None,
}


def resolve(defaults: dict[str, Any] | None = None, **options: Any) -> LLMOptions:
    return resolve_options(defaults or {}, **{**NONE, **options})


def test_stated_defaults_hold_where_nothing_is_said() -> None:
    assert resolve() == LLMOptions(2048, None, None, 4, "fixed", True)


def test_the_caller_wins_over_the_bundle() -> None:
    defaults = {"num_speculative_tokens": 6, "context": 512, "draft_policy": "confidence", "threads": 0}
    assert resolve(defaults) == LLMOptions(512, None, None, 6, "confidence", True)
    assert resolve(defaults, num_speculative_tokens=2, context=64, threads=1) == LLMOptions(
        64, None, 1, 2, "confidence", True
    )


@pytest.mark.parametrize(
    "options",
    [
        {"num_speculative_tokens": 0},
        {"speculative": False},
        {"drafter": None},
        {"speculative_config": {"method": "none"}},
        {"speculative_config": {"num_speculative_tokens": 0}},
    ],
)
def test_speculation_is_off_where_it_is_switched_off_or_has_no_drafter(options: dict[str, Any]) -> None:
    assert not resolve(**options).speculative


def test_a_speculative_config_is_taken() -> None:
    config = {"method": "draft_model", "model": "package:x", "num_speculative_tokens": 3, "policy": "fixed"}
    assert resolve(speculative_config=config).num_speculative_tokens == 3


@pytest.mark.parametrize(
    ("options", "error", "phrase"),
    [
        ({"speculative_config": {"num_spec_tokens": 3}}, UsageError, "did you mean 'num_speculative_tokens'"),
        ({"speculative_config": {"method": "ngram"}}, UsageError, "method must be one of"),
        ({"speculative_config": {"method": "model"}}, MismatchError, "the bundle's drafter is 'self'"),
        ({"speculative_config": {"model": "other"}}, MismatchError, "is made from 'package:x'"),
        ({"speculative_config": {"method": "self"}, "drafter": None}, MismatchError, "the bundle has none"),
        (
            {"speculative_config": {"num_speculative_tokens": 3}, "num_speculative_tokens": 4},
            UsageError,
            "give one",
        ),
        ({"num_speculative_tokens": -1}, UsageError, "at least 0"),
        ({"num_speculative_tokens": "4"}, UsageError, "at least 0"),
        ({"draft_policy": "guess"}, UsageError, "one of fixed, confidence"),
    ],
)
def test_contradictions_are_refused(options: dict[str, Any], error: type[RedraftError], phrase: str) -> None:
    with pytest.raises(error, match=phrase):
        resolve(**options)


def test_defaults_come_from_the_bundles_recipe(tmp_path: Path) -> None:
    assert bundle_defaults(tmp_path) == {}
    (tmp_path / "recipe.toml").write_text("[runtime]\ncontext = 99\n")
    assert bundle_defaults(tmp_path) == {"context": 99}
    for damaged in ("[runtime", "runtime = 3"):
        (tmp_path / "recipe.toml").write_text(damaged)
        with pytest.raises(InputFileError, match="damaged"):
            bundle_defaults(tmp_path)


@pytest.mark.parametrize("threads", [-1, 1025, 100_000])
def test_a_number_of_threads_out_of_range_is_refused(threads: int) -> None:
    with pytest.raises(UsageError, match="threads: expected 1 to 1024"):
        resolve(threads=threads)
