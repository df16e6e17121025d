"""Steps that export: the tokenizer with the licence files, the target's graph and the drafter's."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redraft._core.digest import digest_file, digest_json
from redraft.engines.cache import graph_digest
from redraft.export.checkpoint.base import Checkpoint
from redraft.export.precision import Precision
from redraft.rdk.vocabulary import TokenizerInfo

from .work import Work

if TYPE_CHECKING:
    from redraft.rdk.prior import RdkPrior
    from redraft.rdk.vocabulary import VocabMap

TOKENIZER = "tokenizer"
LICENCES = "licenses"


def export_tokenizer(work: Work) -> dict[str, Any]:
    """Write `tokenizer/`; facts: its digest, and that of all its files (chat template, stop ids)."""

    def run() -> dict[str, Any]:
        work.target.write_tokenizer(work.folder / TOKENIZER)
        folder = work.folder / TOKENIZER
        files = {path.name: digest_file(path) for path in sorted(folder.iterdir())}
        return {"digest": TokenizerInfo.read(folder).digest, "files_digest": digest_json(files)}

    inputs = {"source": work.target_identity}
    return work.step("tokenizer", "tokenizer", inputs=inputs, layer="export", outputs=[TOKENIZER], run=run)


def export_target_graph(work: Work) -> dict[str, Any]:
    """Write `target/<precision>/`; facts: its folder, digest and source."""
    precision = work.target_precision
    folder = f"target/{precision.label}"

    def run() -> dict[str, Any]:
        from redraft.export import export_target

        export_target(work.target, work.folder / folder, precision, outputs=("hidden",))
        return _facts(work, work.target, folder, f"{LICENCES}/target")

    inputs = {"source": work.target_identity, "precision": plain_precision(precision)}
    title = f"target graph, {precision.label}, from {work.recipe.target.checkpoint}"
    outputs = [folder, f"{LICENCES}/target"]
    return work.step("target graph", title, inputs=inputs, layer="export", outputs=outputs, run=run)


def export_drafter_graph(
    work: Work,
    name: str,
    title: str,
    folder: str,
    *,
    identity: dict[str, Any],
    load: Callable[[], tuple[VocabMap, RdkPrior]],
    outputs: Sequence[str] = (),
) -> dict[str, Any]:
    """Write a drafter's graph into `folder`; facts as of the target's.

    `identity`: the digests of map and prior; `load` reads them, and is called only where the step runs.
    """
    precision = work.drafter_precision
    drop = work.recipe.drafter.drop_layers

    def run() -> dict[str, Any]:
        from redraft.export import export_drafter

        vocab_map, prior = load()
        where = work.folder / folder
        export_drafter(work.drafter, where, precision, vocab_map, prior, drop_layers=drop, outputs=outputs)
        return _facts(work, work.drafter, folder, f"{LICENCES}/drafter")

    inputs = {
        "source": work.drafter_identity,
        "precision": plain_precision(precision),
        "drop_layers": list(drop),
        "outputs": list(outputs),
        **identity,
    }
    left = [folder] if work.is_self_drafter else [folder, f"{LICENCES}/drafter"]
    return work.step(name, title, inputs=inputs, layer="export", outputs=left, run=run)


def _facts(work: Work, checkpoint: Checkpoint, folder: str, licences: str) -> dict[str, Any]:
    source = checkpoint.source
    shared = work.is_self_drafter and licences.endswith("drafter")
    copied = (
        _licence_names(source.license_files, f"{LICENCES}/target")
        if shared
        else _copy(work, source.license_files, licences)
    )
    return {
        "folder": folder,
        "digest": graph_digest(work.folder / folder),
        "source": {
            "uri": source.uri,
            "revision": source.revision,
            "format": source.format,
            "license": source.license,
            "license_files": copied,
            "quantized_bits": source.quantized_bits,
        },
    }


def _copy(work: Work, files: Sequence[Path], folder: str) -> list[str]:
    (work.folder / folder).mkdir(parents=True, exist_ok=True)
    names = _licence_names(files, folder)
    for file, name in zip(files, names, strict=True):
        shutil.copyfile(file, work.folder / name)
    return names


def _licence_names(files: Sequence[Path], folder: str) -> list[str]:
    return [f"{folder}/{file.name}" for file in files]


def plain_precision(precision: Precision) -> dict[str, str]:
    """A precision as a JSON object, for the keys of steps."""
    return {part: getattr(precision, part) for part in ("body", "embedding", "head", "compute")}
