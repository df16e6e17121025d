"""Recipes: what is read, what is refused, and by which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.repository import ROOT

from redraft._core.errors import InputFileError, RedraftError, UsageError
from redraft.cli.recipe import load_recipe, recipe_from_table

MINIMAL: dict[str, Any] = {"target": {"checkpoint": "package:x"}}


@pytest.mark.parametrize("path", sorted((ROOT / "recipes").glob("*.toml")), ids=lambda path: path.stem)
def test_every_recipe_of_the_repository_is_read(path: Path) -> None:
    recipe = load_recipe(path)
    assert recipe.name == path.stem
    assert recipe.drafter.precision == "int4"


def test_the_gemma_recipe_names_the_terms_of_its_weights() -> None:
    assert "Gemma Terms of Use" in load_recipe(ROOT / "recipes/gemma3-270m.toml").notice


def test_defaults_fill_what_a_recipe_leaves_out(tmp_path: Path) -> None:
    recipe = recipe_from_table(MINIMAL, folder=tmp_path)
    assert (recipe.target.precision, recipe.drafter.kind, recipe.runtime.context) == ("fp32", "self", 2048)
    assert recipe.capacity == recipe.runtime.context + recipe.build.max_prefill


@pytest.mark.parametrize(
    ("table", "phrase"),
    [
        ({"target": {"checkpiont": "x"}}, "did you mean 'target.checkpoint'"),
        ({**MINIMAL, "vocabluary": {}}, "did you mean 'vocabulary'"),
        ({"target": {}}, "'target.checkpoint' is missing"),
        ({}, "'target' is missing"),
        ({"target": "package:x"}, "'target' is a table"),
        ({**MINIMAL, "vocabulary": {"keep": 0.0}}, "above 0 and at most 1, got 0.0"),
        ({**MINIMAL, "vocabulary": {"keep": 1.5}}, "above 0 and at most 1, got 1.5"),
        ({**MINIMAL, "vocabulary": {"keep": "ten"}}, "'vocabulary.keep' is a number, got 'ten'"),
        ({**MINIMAL, "vocabulary": {"keep": True}}, "'vocabulary.keep' is a number, got True"),
        ({**MINIMAL, "vocabulary": {"source": "corpus"}}, "needs 'vocabulary.path'"),
        ({**MINIMAL, "vocabulary": {"path": "x.txt"}}, "takes no 'vocabulary.path'"),
        ({**MINIMAL, "rdk": {"kind": "lowrank"}}, "'rdk.kind' is one of"),
        ({**MINIMAL, "rdk": {"rank": 0}}, "'rdk.rank' is at least 1"),
        ({**MINIMAL, "rdk": {"epsilon": 2}}, "between 0 and 1"),
        ({**MINIMAL, "drafter": {"kind": "eagle"}}, "one of 'self', 'model'"),
        ({**MINIMAL, "drafter": {"kind": "model"}}, "needs 'drafter.checkpoint'"),
        ({**MINIMAL, "drafter": {"checkpoint": "y"}}, "takes no 'drafter.checkpoint'"),
        ({**MINIMAL, "drafter": {"precision": "int5"}}, "expected one of fp32"),
        ({**MINIMAL, "drafter": {"drop_layers": [-1]}}, "counts from 0"),
        ({**MINIMAL, "drafter": {"drop_layers": 3}}, "'drafter.drop_layers' is a list"),
        ({**MINIMAL, "runtime": {"num_speculative_tokens": 16}}, "narrower than a verification"),
        ({**MINIMAL, "runtime": {"cache_capacity": 100}}, "below 'runtime.context'"),
        ({**MINIMAL, "build": {"backends": []}}, "'build.backends' is empty"),
    ],
)
def test_a_wrong_recipe_is_refused_in_words(table: dict[str, Any], phrase: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        recipe_from_table(table, folder=tmp_path)
    assert phrase in str(caught.value)


@pytest.mark.parametrize(
    ("content", "phrase"),
    [(None, "does not exist"), ("[target", "is no TOML"), (b"\xff\xfe", "is no TOML")],
)
def test_a_file_that_is_no_recipe_is_refused(
    content: str | bytes | None, phrase: str, tmp_path: Path
) -> None:
    path = tmp_path / "r.toml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputFileError) as caught:
        load_recipe(path)
    assert phrase in str(caught.value)


def test_relative_paths_are_read_from_the_recipes_folder(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    path = tmp_path / "r.toml"
    path.write_text('[target]\ncheckpoint = "model"\n[vocabulary]\nsource = "corpus"\npath = "text.txt"\n')
    recipe = load_recipe(path)
    assert recipe.target.checkpoint == str(tmp_path / "model")
    assert recipe.vocabulary.path == tmp_path / "text.txt"


def test_a_recipe_survives_the_round_trip_through_its_resolved_form(tmp_path: Path) -> None:
    recipe = recipe_from_table({**MINIMAL, "drafter": {"drop_layers": [2, 5]}}, folder=tmp_path)
    table = {
        key: {name: item for name, item in value.items() if item is not None}
        if isinstance(value, dict)
        else value
        for key, value in recipe.to_json().items()
    }
    assert recipe_from_table(table, folder=tmp_path) == recipe


def test_every_refusal_is_a_usage_error() -> None:
    assert issubclass(UsageError, RedraftError)
    assert UsageError.exit_code == 2
