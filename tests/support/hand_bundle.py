"""A bundle folder around a hand-written graph: manifest, recipe and a target, no drafter unless asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from redraft.engines import Profile, get_backend
from redraft.engines.bundle import (
    Bundle,
    Manifest,
    Part,
    SourceEntry,
    describe_files,
    install_engine,
    write_manifest,
)
from redraft.export.graph_spec import SPEC_FILE
from redraft.rdk.vocabulary import VocabMap

from .canonical_graph import TinyDecoder, write_tiny

TOKENIZER_DIGEST = "7" * 64


def make_bundle(
    folder: Path, *, drafter: bool = False, engine: bool = True, config: TinyDecoder | None = None
) -> Bundle:
    """A bundle in `folder` with an ort-cpu engine of each part."""
    config = config or TinyDecoder()
    write_tiny(folder / "target/fp32", config)
    (folder / "recipe.toml").write_text('name = "tiny"\n')
    parts: dict[str, Any] = {"target": _part("target/fp32", "target")}
    paths = ["target", "recipe.toml"]
    map_digest = None
    if drafter:
        vocab_map = VocabMap(np.arange(0, config.rows, 2, dtype=np.int32), config.rows, TOKENIZER_DIGEST)
        vocab_map.save(folder / "vocab_map.safetensors")
        map_digest = vocab_map.digest
        spec = replace(write_tiny(folder / "drafter/fp32", config), role="drafter", map_digest=map_digest)
        (folder / "drafter/fp32" / SPEC_FILE).write_text(json.dumps(spec.to_json()))
        parts["drafter"] = _part("drafter/fp32", "self", map_digest)
        paths += ["drafter", "vocab_map.safetensors"]
    manifest = Manifest(
        redraft_version="0",
        name="tiny",
        recipe="recipe.toml",
        map_digest=map_digest,
        files=describe_files(folder, paths),
        **parts,
    )
    write_manifest(folder, manifest)
    bundle = Bundle.open(folder)
    if engine:
        for role in ("target", "drafter") if drafter else ("target",):
            bundle, _ = install_engine(bundle, role, get_backend("ort-cpu"), Profile())  # type: ignore[arg-type]
    return bundle


def _part(folder: str, kind: Any, map_digest: str | None = None) -> Part:
    return Part(
        folder=folder,
        kind=kind,
        source=SourceEntry(uri="random", format="none"),
        precision="fp32",
        variant="logits",
        opset=24,
        map_digest=map_digest,
    )
