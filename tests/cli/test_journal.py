"""Steps run once for the same inputs, again for others, and never count when they were interrupted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redraft.cli.pipeline.journal import JOURNAL, Journal, StepNeededError


def writer(folder: Path, name: str, text: str, calls: list[str]) -> Callable[[], dict[str, Any]]:
    def run() -> dict[str, Any]:
        calls.append(text)
        (folder / name).write_text(text)
        return {"length": len(text)}

    return run


def test_a_finished_step_is_skipped_and_gives_its_facts_again(tmp_path: Path) -> None:
    calls: list[str] = []
    for _ in range(2):
        facts = Journal.open(tmp_path).step("a", "k", "a", ["x"], writer(tmp_path, "x", "one", calls))
        assert facts == {"length": 3}
    assert calls == ["one"]


def test_another_key_runs_the_step_again(tmp_path: Path) -> None:
    calls: list[str] = []
    Journal.open(tmp_path).step("a", "k1", "a", ["x"], writer(tmp_path, "x", "one", calls))
    Journal.open(tmp_path).step("a", "k2", "a", ["x"], writer(tmp_path, "x", "three", calls))
    assert calls == ["one", "three"]
    assert (tmp_path / "x").read_text() == "three"


def test_a_step_whose_output_has_vanished_runs_again(tmp_path: Path) -> None:
    calls: list[str] = []
    run = writer(tmp_path, "x", "one", calls)
    Journal.open(tmp_path).step("a", "k", "a", ["x"], run)
    (tmp_path / "x").unlink()
    Journal.open(tmp_path).step("a", "k", "a", ["x"], run)
    assert calls == ["one", "one"]


def test_an_interrupted_step_is_not_recorded_and_what_it_left_goes(tmp_path: Path) -> None:
    def interrupted() -> dict[str, Any]:
        (tmp_path / "x").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Journal.open(tmp_path).step("a", "k", "a", ["x"], interrupted)
    seen: list[bool] = []

    def run() -> dict[str, Any]:
        seen.append((tmp_path / "x").exists())
        (tmp_path / "x").write_text("whole")
        return {}

    Journal.open(tmp_path).step("a", "k", "a", ["x"], run)
    assert seen == [False]
    assert (tmp_path / "x").read_text() == "whole"


def test_a_damaged_journal_counts_as_empty(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text("{")
    calls: list[str] = []
    Journal.open(tmp_path).step("a", "k", "a", ["x"], writer(tmp_path, "x", "one", calls))
    assert calls == ["one"]


def test_reading_only_runs_nothing(tmp_path: Path) -> None:
    calls: list[str] = []
    journal = Journal.open(tmp_path, only_read=True)
    with pytest.raises(StepNeededError):
        journal.step("a", "k", "a", ["x"], writer(tmp_path, "x", "one", calls))
    assert calls == []
    assert list(tmp_path.iterdir()) == []


def test_what_no_step_uses_any_more_is_removed(tmp_path: Path) -> None:
    first = Journal.open(tmp_path)
    first.step("a", "k", "a", ["x"], writer(tmp_path, "x", "one", []))
    first.step("b", "k", "b", ["y"], writer(tmp_path, "y", "two", []))
    second = Journal.open(tmp_path)
    second.step("a", "k", "a", ["x"], writer(tmp_path, "x", "one", []))
    second.drop_unused()
    assert (tmp_path / "x").exists()
    assert not (tmp_path / "y").exists()
    assert set(Journal.open(tmp_path).done) == {"a"}


def test_an_output_that_another_step_shares_is_kept(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path)
    journal.step("a", "k", "a", ["x"], writer(tmp_path, "x", "one", []))
    journal.step("b", "k", "b", ["x"], dict)
    assert (tmp_path / "x").read_text() == "one"


def test_a_step_that_an_older_folder_has_done_is_copied_from_it(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    Journal.open(old).step("a", "k", "a", ["x"], writer(old, "x", "one", []))
    calls: list[str] = []
    facts = Journal.open(new, base=old).step("a", "k", "a", ["x"], writer(new, "x", "two", calls))
    assert (facts, calls) == ({"length": 3}, [])
    assert (new / "x").read_text() == "one"
    (new / "x").write_text("changed")
    assert (old / "x").read_text() == "one"


def test_a_step_of_an_older_folder_with_another_key_is_not_taken(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    Journal.open(old).step("a", "k1", "a", ["x"], writer(old, "x", "one", []))
    Journal.open(new, base=old).step("a", "k2", "a", ["x"], writer(new, "x", "two", []))
    assert (new / "x").read_text() == "two"
