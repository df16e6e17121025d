"""The four folders at the top are the package's subpackages, by relative links."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.repository import FOLDERS, ROOT


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_link_is_relative_and_resolves_to_its_folder(folder: str) -> None:
    link = ROOT / "src" / "redraft" / folder
    assert link.is_symlink()
    assert not Path(os.readlink(link)).is_absolute()
    assert link.resolve() == ROOT / folder


def test_every_link_of_the_package_is_one_of_the_four() -> None:
    links = {path.name for path in (ROOT / "src" / "redraft").iterdir() if path.is_symlink()}
    assert links == set(FOLDERS)
