"""Which of redraft's artefacts, or which checkpoint, something is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redraft._core.errors import InputFileError


@dataclass(frozen=True, slots=True)
class Description:
    """`kind` in a few words, and facts as a JSON object."""

    kind: str
    facts: dict[str, Any]


def describe(name: str) -> Description:
    """What `name` (a path, `package:NAME` or a hub id) is.

    InputFileError where it is nothing that redraft knows.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return _folder(path)
    if path.is_file():
        return _file(path)
    from .checkpoint import describe_checkpoint

    return describe_checkpoint(name)


def _folder(path: Path) -> Description:
    from . import artefacts
    from .checkpoint import describe_checkpoint

    if (path / "manifest.json").is_file():
        return artefacts.describe_bundle(path)
    if (path / "build.json").is_file():
        return artefacts.describe_engine(path)
    if (path / "graph.json").is_file():
        return artefacts.describe_graph(path)
    if (path / "tokens.json").is_file():
        return artefacts.describe_tokenizer(path)
    if (path / "config.json").is_file():
        return describe_checkpoint(str(path))
    raise InputFileError(
        f"{path} is a folder, but neither a bundle, a graph, an engine, a tokenizer nor a checkpoint",
        hint="look one folder deeper, or make a bundle with `redraft compile`",
    )


def _file(path: Path) -> Description:
    from . import artefacts
    from .checkpoint import describe_checkpoint

    if path.name == "manifest.json":
        return artefacts.describe_bundle(path.parent)
    if path.name == "graph.json":
        return artefacts.describe_graph(path.parent)
    if path.suffix == ".toml":
        return artefacts.describe_recipe(path)
    if path.suffix == ".gguf":
        return describe_checkpoint(str(path))
    if path.suffix == ".safetensors":
        return artefacts.describe_safetensors(path)
    if path.suffix == ".onnx" and (path.parent / "graph.json").is_file():
        return artefacts.describe_graph(path.parent)
    raise InputFileError(
        f"{path} is none of redraft's files nor a checkpoint",
        hint="known are manifest.json, graph.json and its model.onnx, .toml recipes, .safetensors, .gguf",
    )
