"""A wheel built from the tracked files holds all of the package and nothing beside it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.support.repository import FOLDERS, ROOT, tracked_files


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names in a wheel built from a clean copy: setuptools would pack stale leftovers of `build/`."""
    copy = tmp_path_factory.mktemp("clean")
    for path in tracked_files():
        target = copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, target, follow_symlinks=False)
    output = copy / "wheel"
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(output), str(copy)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-2000:]
    (wheel,) = output.glob("*.whl")
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_holds_every_tracked_file_of_the_four_folders(wheel_names: set[str]) -> None:
    expected = {f"redraft/{path}" for path in tracked_files() if path.split("/")[0] in FOLDERS}
    assert len(expected) > len(FOLDERS)
    assert expected - wheel_names == set()


def test_the_wheel_holds_the_program_and_the_type_marker(wheel_names: set[str]) -> None:
    assert {"redraft/py.typed", "redraft/__main__.py", "redraft/cli/program.py"} <= wheel_names


def test_redraft_is_the_only_top_level_name(wheel_names: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel_names}
    assert {name for name in tops if not name.endswith(".dist-info")} == {"redraft"}


def test_the_wheel_carries_the_licence(wheel_names: set[str]) -> None:
    assert any(Path(name).name == "LICENSE" for name in wheel_names)
