"""A bundle grows beside its place and is put there whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft._core.errors import RedraftError
from redraft.cli.pipeline.journal import JOURNAL
from redraft.cli.pipeline.staging import compiling, partial_folder, publish, start_partial


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "b"
    (folder / "target").mkdir(parents=True)
    (folder / "target" / "weights").write_text("old")
    (folder / "manifest.json").write_text("{}")
    (folder / JOURNAL).write_text('{"steps": {}}')
    return folder


def test_the_growing_folder_begins_empty_and_leaves_the_old_bundle_alone(bundle: Path) -> None:
    assert list(start_partial(bundle).iterdir()) == []
    assert (bundle / "target" / "weights").read_text() == "old"


def test_leftovers_without_a_journal_are_not_taken_up(bundle: Path) -> None:
    partial_folder(bundle).mkdir()
    (partial_folder(bundle) / "half").write_text("written")
    assert list(start_partial(bundle).iterdir()) == []


def test_an_interrupted_folder_is_taken_up_again(tmp_path: Path) -> None:
    partial = start_partial(tmp_path / "b")
    (partial / JOURNAL).write_text("{}")
    (partial / "x").write_text("kept")
    assert (start_partial(tmp_path / "b") / "x").read_text() == "kept"


def test_publishing_replaces_the_bundle_and_leaves_nothing_else(bundle: Path) -> None:
    partial = start_partial(bundle)
    (partial / "new").write_text("n")
    publish(partial, bundle)
    assert (bundle / "new").exists()
    assert [path.name for path in bundle.parent.iterdir()] == ["b"]


def test_where_publishing_fails_the_old_bundle_is_still_there(bundle: Path) -> None:
    with pytest.raises(RedraftError, match="could not put the bundle"):
        publish(partial_folder(bundle), bundle)
    assert (bundle / "target" / "weights").read_text() == "old"


def test_a_second_compilation_of_the_same_bundle_is_refused(tmp_path: Path) -> None:
    with compiling(tmp_path / "b"), pytest.raises(RedraftError, match="another process is compiling"):  # noqa: SIM117
        with compiling(tmp_path / "b"):
            pass


def test_a_failed_compilation_leaves_no_lock(tmp_path: Path) -> None:
    with pytest.raises(RedraftError, match="a step"), compiling(tmp_path / "b"):
        raise RedraftError("a step failed")
    assert list(tmp_path.iterdir()) == []
