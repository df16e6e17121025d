"""`redraft` is the only import name, and importing it is light."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.repository import FOLDERS

HEAVY = ("torch", "onnx", "onnx_ir", "onnxscript", "transformers", "onnxruntime", "tensorrt", "gguf")


def modules_after(statement: str, folder: Path) -> set[str]:
    """Top-level names in sys.modules after a statement in a fresh interpreter."""
    listing = "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    program = f"import json, sys\n{statement}\n{listing}"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, check=True
    )
    return set(json.loads(run.stdout.splitlines()[-1]))


def test_no_module_has_a_bare_folder_name_after_importing_the_program(tmp_path: Path) -> None:
    loaded = modules_after("import redraft.cli.program, redraft.runtime, redraft.engines", tmp_path)
    assert "redraft" in loaded
    assert loaded.isdisjoint(FOLDERS)


@pytest.mark.parametrize("name", ["redraft", "redraft.runtime", "redraft.engines", "redraft.cli.program"])
def test_importing_loads_nothing_heavy(name: str, tmp_path: Path) -> None:
    assert modules_after(f"import {name}", tmp_path).isdisjoint(HEAVY)


def test_the_public_names_resolve_without_anything_heavy(tmp_path: Path) -> None:
    loaded = modules_after("from redraft import LLM, SamplingParams, RedraftError", tmp_path)
    assert loaded.isdisjoint(HEAVY)


def test_a_heavy_import_would_be_seen(tmp_path: Path) -> None:
    assert "onnxruntime" in modules_after("import onnxruntime", tmp_path)


def test_the_program_starts_without_numpy(tmp_path: Path) -> None:
    assert "numpy" not in modules_after("import redraft.cli.program", tmp_path)
