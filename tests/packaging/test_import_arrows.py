"""Imports point one way: _core <- rdk <- export <- engines <- runtime <- cli."""

from __future__ import annotations

import pytest
from tests.support.repository import FOLDERS, ROOT, imported_modules, module_files, package_of

LAYERS = ("_core", *FOLDERS, "cli")
SOURCES = {
    "_core": ROOT / "src/redraft/_core",
    "cli": ROOT / "src/redraft/cli",
    **{folder: ROOT / folder for folder in FOLDERS},
}


def wrong_arrows(layer: str, source: str, package: str) -> list[str]:
    """Imports of `source`, a module of `layer`, that point to a layer on its right."""
    later = LAYERS[LAYERS.index(layer) + 1 :]
    found = []
    for line, name in imported_modules(source, package):
        parts = name.split(".")
        if parts[0] == "redraft" and len(parts) > 1 and parts[1] in later:
            found.append(f"line {line}: {name}")
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_nothing_to_its_right(layer: str) -> None:
    files = module_files(SOURCES[layer])
    assert files, f"{SOURCES[layer]} holds no module"
    found = {
        str(path.relative_to(ROOT)): arrows
        for path in files
        if (arrows := wrong_arrows(layer, path.read_text(), package_of(path)))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("layer", "source", "package"),
    [
        ("rdk", "from redraft.export.graph_spec import GraphSpec", "redraft.rdk"),
        ("rdk", "def f():\n    import redraft.runtime", "redraft.rdk"),
        ("engines", "from redraft import runtime", "redraft.engines.backends"),
        ("export", "from ..engines import base", "redraft.export"),
        ("_core", "from ...cli import output", "redraft._core.deep"),
        ("runtime", "from redraft.cli.output import note", "redraft.runtime"),
    ],
)
def test_a_seeded_wrong_arrow_is_found(layer: str, source: str, package: str) -> None:
    assert wrong_arrows(layer, source, package)


@pytest.mark.parametrize(
    ("layer", "source", "package"),
    [
        ("export", "from redraft.rdk.prior import RdkPrior", "redraft.export"),
        ("runtime", "from redraft import __version__", "redraft.runtime"),
        ("engines", "from .base import Engine", "redraft.engines"),
    ],
)
def test_a_right_arrow_is_not_reported(layer: str, source: str, package: str) -> None:
    assert wrong_arrows(layer, source, package) == []


def test_every_folder_of_the_package_is_a_layer() -> None:
    package = ROOT / "src/redraft"
    folders = {path.name for path in package.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert folders == set(LAYERS)


def test_the_package_of_a_file_is_told_from_its_path() -> None:
    assert package_of(ROOT / "rdk" / "vocabulary" / "vocab_map.py") == "redraft.rdk.vocabulary"
    assert package_of(ROOT / "src" / "redraft" / "cli" / "program.py") == "redraft.cli"
