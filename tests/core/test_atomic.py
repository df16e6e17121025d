"""Files and folders that appear whole or not at all: where they may not, one sentence and nothing touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft._core.atomic import atomic_file, atomic_folder
from redraft._core.errors import InputFileError, RedraftError


@pytest.mark.parametrize("opened", [atomic_file, atomic_folder])
def test_a_place_below_a_file_is_refused_in_one_sentence(tmp_path: Path, opened: object) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(RedraftError, match="could not write"), opened(tmp_path / "file" / "x"):  # type: ignore[operator]
        pass
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a").write_text("precious")
    with (
        pytest.raises(InputFileError, match=r"holds no graph\.json, so it is not replaced"),
        atomic_folder(tmp_path / "mine", marker="graph.json"),
    ):
        pass
    assert (tmp_path / "mine" / "a").read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_file_is_not_replaced_by_a_folder(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("precious")
    with pytest.raises(InputFileError), atomic_folder(tmp_path / "notes", marker="graph.json"):
        pass
    assert (tmp_path / "notes").read_text() == "precious"


def test_a_folder_with_the_marker_or_an_empty_one_is_replaced(tmp_path: Path) -> None:
    for _ in range(2):
        (tmp_path / "graph").mkdir(exist_ok=True)
        with atomic_folder(tmp_path / "graph", marker="graph.json") as folder:
            (folder / "graph.json").write_text("new")
    assert (tmp_path / "graph" / "graph.json").read_text() == "new"
