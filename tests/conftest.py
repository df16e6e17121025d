"""Fixtures that every folder of tests may use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.tiny_bundle import compile_tiny, write_tiny_recipe
from tests.support.tiny_checkpoints import tiny_variant


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """variant -> folder of that tiny checkpoint, saved once a session; do not write into it."""
    saved: dict[str, Path] = {}

    def folder_of(variant: str) -> Path:
        if variant not in saved:
            saved[variant] = tiny_variant(variant, tmp_path_factory.mktemp("tiny") / variant)
        return saved[variant]

    return folder_of


@pytest.fixture(scope="session")
def tiny_recipe(tiny_folder: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recipe that `tiny_bundle` is compiled from."""
    return write_tiny_recipe(tmp_path_factory.mktemp("recipe") / "tiny.toml", tiny_folder("llama-tied"))


@pytest.fixture(scope="session")
def tiny_bundle(tiny_recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model compiled by the real pipeline; copy it to change it."""
    return compile_tiny(tiny_recipe, tmp_path_factory.mktemp("bundles") / "tiny")
