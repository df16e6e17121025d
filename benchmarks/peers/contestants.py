"""Contestants: who decodes, from which files, and why one is left out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.peers.hf_folder import write_hf_folder

from redraft.engines import Profile, get_backend
from redraft.engines.cache import build_cached, engine_key, graph_digest
from redraft.export import Precision, export_target
from redraft.export.checkpoint.base import Checkpoint
from redraft.export.graph_spec import SPEC_FILE


@dataclass(frozen=True, slots=True)
class Contestant:
    """`prepare` writes what the worker of kind `worker` loads and returns its arguments.

    `exact`: its arithmetic is float32 on the same weights, so that its greedy text must be ours.
    """

    name: str
    worker: str
    modules: tuple[str, ...]
    exact: bool
    prepare: Callable[[], dict[str, Any]]

    @property
    def missing(self) -> str | None:
        """Why it cannot run here, None where it can."""
        absent = [module for module in self.modules if find_spec(module) is None]
        if not absent:
            return None
        return f"not installed: {', '.join(absent)} (pip install 'redraft[peers]')"


def contestants(
    checkpoint: Checkpoint, gguf: Path | None, bundle: Path | None, work: Path
) -> list[Contestant]:
    """All of them, redraft first. `work` keeps what they build; `gguf` is the source file, where there is
    one.
    """
    hf = work / "hf"
    genai, torch = ("onnxruntime_genai", "torch", "transformers"), ("torch", "transformers")
    found = [
        Contestant("redraft fp32", "redraft", (), True, lambda: _redraft(checkpoint, work, "fp32")),
        Contestant("redraft int4", "redraft", (), False, lambda: _redraft(checkpoint, work, "int4")),
    ]
    if bundle is not None:
        speculative = {"bundle": str(bundle)}
        found.append(Contestant("redraft fp32 speculative", "bundle", (), True, lambda: speculative))
    for precision in ("fp32", "int4"):
        found.append(
            Contestant(
                f"onnxruntime-genai {precision}",
                "genai",
                genai,
                precision == "fp32",
                lambda precision=precision: _genai(checkpoint, hf, work, precision),  # type: ignore[misc]
            )
        )
    found.append(
        Contestant(
            "transformers fp32",
            "transformers",
            torch,
            True,
            lambda: {"folder": str(write_hf_folder(checkpoint, hf))},
        )
    )
    if gguf is not None:
        name = f"llama.cpp {checkpoint.source.format.removeprefix('gguf-').upper()}"
        found.append(Contestant(name, "llama_cpp", ("llama_cpp",), False, lambda: {"file": str(gguf)}))
    return found


def _redraft(checkpoint: Checkpoint, work: Path, precision: str) -> dict[str, Any]:
    graph = work / "redraft" / precision
    if not (graph / SPEC_FILE).is_file():
        export_target(checkpoint, graph, Precision.parse(precision))
    backend, profile = get_backend("ort-cpu"), Profile()
    key = engine_key(graph_digest(graph), backend, profile)
    built = build_cached(backend, graph, profile, work / "engines", key)
    return {"engine": str(built.path)}


def _genai(checkpoint: Checkpoint, hf: Path, work: Path, precision: str) -> dict[str, Any]:
    """Built by onnxruntime-genai's own model builder; RuntimeError where that fails."""
    folder = work / "genai" / precision
    if not (folder / "genai_config.json").is_file():
        write_hf_folder(checkpoint, hf)
        builder = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", str(hf), "-o", str(folder)]
        options = ["-p", precision, "-e", "cpu", "-c", str(work / "genai-cache")]
        done = subprocess.run([*builder, *options], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"its model builder failed: {' '.join(done.stderr.split())[-300:]}")
    return {"folder": str(folder)}
