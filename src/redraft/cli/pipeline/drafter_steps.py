"""Steps that make what a drafter is beside its weights: the vocabulary map and the prior; then its graph."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redraft._core.errors import MismatchError
from redraft.cli.unfitted import WITHOUT_STATISTICS, make_unfitted
from redraft.cli.vocabulary_sources import read_ids, tokens_of_text
from redraft.export.graph_spec import GraphSpec
from redraft.rdk.vocabulary import TokenizerInfo, VocabMap

from .graph_steps import TOKENIZER, export_drafter_graph, plain_precision
from .identity import file_identity
from .statistics_step import load_statistics
from .work import Work

if TYPE_CHECKING:
    from redraft.rdk.prior import RdkPrior
    from redraft.rdk.vocabulary import MapBuild

MAP_FILE = "vocab_map.safetensors"
PRIOR_FILE = "rdk_prior.safetensors"


def build_map(
    work: Work, tokenizer: dict[str, Any], target: dict[str, Any], statistics: dict[str, Any]
) -> dict[str, Any]:
    """Write `vocab_map.safetensors`; facts: digest, kept rows and how they were chosen."""
    recipe = work.recipe.vocabulary

    def run() -> dict[str, Any]:
        info = TokenizerInfo.read(work.folder / TOKENIZER)
        if not work.is_self_drafter:
            _check_same_tokenizer(work, info)
        rows = GraphSpec.read(work.folder / target["folder"]).sizes["T"]
        vocab_map, note = _chosen(work, info, rows)
        vocab_map.save(work.folder / MAP_FILE)
        return {"digest": vocab_map.digest, "kept": vocab_map.num_hot, "rows": vocab_map.rows, "note": note}

    inputs = {
        "tokenizer": tokenizer["files_digest"],
        "target": target["digest"],
        "drafter": work.drafter_identity,
        "source": recipe.source,
        "path": file_identity(recipe.path),
        "keep": recipe.keep,
        "statistics": statistics.get("digest") if recipe.source == "generated" else None,
    }
    title = f"vocabulary map, source {recipe.source}"
    return work.step("map", title, inputs=inputs, layer="runtime", outputs=[MAP_FILE], run=run)


def make_prior(work: Work, vocab_map: dict[str, Any], statistics: dict[str, Any]) -> dict[str, Any]:
    """Write `rdk_prior.safetensors`; facts: kind and digest."""
    rdk = work.recipe.rdk

    def run() -> dict[str, Any]:
        from redraft.export import drafter_body_digest

        body = drafter_body_digest(work.drafter, work.drafter_precision, work.recipe.drafter.drop_layers)
        prior = make_unfitted(
            rdk.kind,
            VocabMap.load(work.folder / MAP_FILE),
            body,
            work.drafter,
            None if rdk.kind in WITHOUT_STATISTICS else load_statistics(work),
            rank=rdk.rank,
            epsilon=rdk.epsilon,
            tau=rdk.tau,
        )
        prior.save(work.folder / PRIOR_FILE)
        return {"kind": prior.kind, "digest": prior.digest}

    inputs = {
        "map": vocab_map["digest"],
        "statistics": statistics.get("digest"),
        "source": work.drafter_identity,
        "precision": plain_precision(work.drafter_precision),
        "drop_layers": list(work.recipe.drafter.drop_layers),
        "kind": rdk.kind,
        "rank": rdk.rank,
        "epsilon": rdk.epsilon,
        "tau": rdk.tau,
    }
    title = f"RDK prior, kind {rdk.kind}, unfitted"
    return work.step("prior", title, inputs=inputs, layer="export", outputs=[PRIOR_FILE], run=run)


def export_drafter(work: Work, vocab_map: dict[str, Any], prior: dict[str, Any]) -> dict[str, Any]:
    """Write `drafter/<precision>/`; facts as of the target's graph."""
    precision = work.drafter_precision.label

    def load() -> tuple[VocabMap, RdkPrior]:
        from redraft.rdk.prior import load_prior

        return VocabMap.load(work.folder / MAP_FILE), load_prior(work.folder / PRIOR_FILE)

    title = (
        f"drafter graph, {precision}, {vocab_map['kept']} of {vocab_map['rows']} rows, kind {prior['kind']}"
    )
    identity = {"map": vocab_map["digest"], "prior": prior["digest"]}
    return export_drafter_graph(
        work, "drafter graph", title, f"drafter/{precision}", identity=identity, load=load
    )


def _chosen(work: Work, info: TokenizerInfo, rows: int) -> tuple[VocabMap, str]:
    from redraft.rdk.vocabulary import build_from_ids, build_from_scores, count_tokens

    recipe = work.recipe.vocabulary
    path = recipe.path or Path()
    built: MapBuild
    if recipe.source == "map":
        vocab_map = VocabMap.load(path)
        vocab_map.check_tokenizer(info.digest)
        if vocab_map.rows != rows:
            raise MismatchError(f"the map {path} is for {vocab_map.rows} rows, the target has {rows}")
        return vocab_map, f"read from {path.name}"
    if recipe.source == "list":
        built = build_from_ids(read_ids(path), info, rows=rows)
    elif recipe.source == "corpus":
        from redraft.runtime.text import TextTokenizer

        tokenizer = TextTokenizer.read(work.folder / TOKENIZER)
        built = build_from_scores(count_tokens(tokens_of_text(path, tokenizer), rows), info, keep=recipe.keep)
    else:
        built = build_from_scores(load_statistics(work).rows.mean, info, keep=recipe.keep)
    return built.vocab_map, built.note


def _check_same_tokenizer(work: Work, info: TokenizerInfo) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work.drafter.write_tokenizer(Path(folder))
        digest = TokenizerInfo.read(Path(folder)).digest
    if digest != info.digest:
        raise MismatchError(
            f"the drafter {work.drafter_uri} has another tokenizer than the target",
            hint="use kind self, or a drafter that was made for this target",
        )
