"""Everything that the package imports is declared, and the heavy parts are in extras."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from tests.support.repository import FOLDERS, ROOT, imported_modules, module_files, package_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS_OF_FOLDER = {
    "export": ("export",),
    "rdk": ("export",),  # graph forms
    "engines": ("export",),  # lowering passes
    "runtime": ("export",),
    "src/redraft/_core": (),
    "src/redraft/cli": ("export",),
}


def declared(*extras: str) -> set[str]:
    """Normalised distribution names of the base dependencies and these extras."""
    listed = [*PROJECT["dependencies"]]
    for extra in extras:
        listed += PROJECT["optional-dependencies"][extra]
    return {re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", line).group()).lower() for line in listed}  # type: ignore[union-attr]


def third_party(folder: str) -> dict[str, set[str]]:
    """Top-level names imported under a folder that are neither redraft nor the standard library -> files."""
    found: dict[str, set[str]] = {}
    for path in module_files(ROOT / folder):
        for _, name in imported_modules(path.read_text(), package_of(path)):
            top = name.partition(".")[0]
            if top and top != "redraft" and top not in sys.stdlib_module_names:
                found.setdefault(top, set()).add(str(path.relative_to(ROOT)))
    return found


@pytest.mark.parametrize("folder", list(EXTRAS_OF_FOLDER))
def test_every_import_is_declared(folder: str) -> None:
    known = declared(*EXTRAS_OF_FOLDER[folder])
    owners = packages_distributions()
    undeclared = {
        top: files
        for top, files in third_party(folder).items()
        if not {re.sub(r"[-_.]+", "-", name).lower() for name in owners.get(top, [])} & known
    }
    assert undeclared == {}


def test_the_runtime_needs_no_torch_and_no_exporter() -> None:
    assert declared().isdisjoint({"torch", "transformers", "onnx", "onnx-ir", "onnxscript", "gguf"})
    assert "torch" not in declared("export")


def test_every_base_dependency_is_imported() -> None:
    imported = set().union(
        *(third_party(folder) for folder in (*FOLDERS, "src/redraft/_core", "src/redraft/cli"))
    )
    owners = packages_distributions()
    used = {re.sub(r"[-_.]+", "-", name).lower() for top in imported for name in owners.get(top, [])}
    assert declared() - used == set()
