"""The registry: names, reasons, refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from redraft._core.errors import UnavailableError, UsageError
from redraft.engines import BACKENDS, DEFAULT_BACKEND, LoadOptions, Profile, available_backends, get_backend
from redraft.engines.doctor import doctor

LATER = [name for name in BACKENDS if name != DEFAULT_BACKEND]


def test_the_default_backend_works_here_and_says_its_version() -> None:
    found = get_backend(DEFAULT_BACKEND).availability()
    assert found.ok
    assert found.version


@pytest.mark.parametrize("name", LATER)
def test_a_backend_of_a_later_release_says_so_and_neither_builds_nor_loads(name: str, tmp_path: Path) -> None:
    backend = get_backend(name)
    found = backend.availability()
    assert not found.ok
    assert "this release builds ort-cpu only" in found.reason
    for action in (
        lambda: backend.build(tmp_path, tmp_path, Profile()),
        lambda: backend.load(tmp_path, LoadOptions()),
    ):
        with pytest.raises(UnavailableError, match="ort-cpu only"):
            action()
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_backend_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(UsageError, match=r"got 'tensorrt-rxt'; did you mean 'tensorrt-rtx'"):
        get_backend("tensorrt-rxt")


def test_every_backend_reports_without_raising() -> None:
    assert list(available_backends()) == list(BACKENDS)
    facts = doctor()
    assert facts["threads"] >= 1
    assert facts["backends"]["ort-cpu"]["ok"]


def test_the_registry_imports_no_runtime_library() -> None:
    code = "import sys, redraft.engines; print({'onnxruntime', 'onnx', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
