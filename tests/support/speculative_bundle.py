"""A whole bundle of a tiny random model: tokenizer, target, pruned self-drafter with a prior, engines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.tiny_checkpoints import tiny_variant

from redraft.engines import Profile, get_backend
from redraft.engines.bundle import (
    Bundle,
    Manifest,
    Part,
    PriorEntry,
    SourceEntry,
    describe_files,
    install_engine,
    write_manifest,
)
from redraft.export import GraphSpec, Precision, drafter_body_digest, export_drafter, export_target, head_rows
from redraft.export.checkpoint import open_checkpoint
from redraft.rdk.prior import PriorInputs, unfitted_prior
from redraft.rdk.vocabulary import TokenizerInfo, build_from_scores


def speculative_bundle(
    folder: Path,
    *,
    variant: str = "llama",
    kind: str = "low-rank",
    keep: float = 0.2,
    drafter: str = "int4",
    **overrides: Any,
) -> Bundle:
    """Export, prune and build `variant` of the tiny checkpoints (`overrides` change its config).

    The tiny tokenizer is nearly all byte tokens, so that here they may be pruned.
    """
    checkpoint = open_checkpoint(str(tiny_variant(variant, folder.parent / f"{folder.name}-hf", **overrides)))
    checkpoint.write_tokenizer(folder / "tokenizer")
    info = TokenizerInfo.read(folder / "tokenizer")
    config, precision = checkpoint.config, Precision.parse(drafter)
    random = np.random.default_rng(0)
    mean = np.zeros(config.head_rows)
    mean[: info.size] = random.dirichlet(np.ones(info.size))
    vocab_map = build_from_scores(mean, replace(info, byte_ids=(), special_ids=()), keep=keep).vocab_map
    inputs = PriorInputs(
        vocab_map,
        drafter_body_digest(checkpoint, precision),
        head_rows=lambda ids: head_rows(checkpoint, ids),
        mean_target=mean,
        covariance_factor=random.normal(0, 0.01, (config.head_rows, 4)).astype(np.float32),
        second_moment=np.eye(config.hidden_size),
    )
    prior = unfitted_prior(kind, inputs, rank=8 if kind == "low-rank" else None)
    vocab_map.save(folder / "vocab_map.safetensors")
    prior.save(folder / "rdk_prior.safetensors")
    target_spec = export_target(checkpoint, folder / "target/fp32", Precision())
    drafter_spec = export_drafter(checkpoint, folder / "drafter/draft", precision, vocab_map, prior)
    (folder / "recipe.toml").write_text('name = "tiny"\n[runtime]\ncontext = 200\n')
    source = SourceEntry(uri=checkpoint.source.uri, format=checkpoint.source.format)
    manifest = Manifest(
        redraft_version="0",
        name="tiny",
        recipe="recipe.toml",
        tokenizer_digest=info.digest,
        map_digest=vocab_map.digest,
        prior=PriorEntry(kind=kind, digest=prior.digest),
        target=_part("target/fp32", "target", target_spec, source),
        drafter=_part("drafter/draft", "self", drafter_spec, source),
        files=describe_files(folder, sorted(path.name for path in folder.iterdir())),
    )
    write_manifest(folder, manifest)
    bundle = Bundle.open(folder)
    for role in ("target", "drafter"):
        bundle, _ = install_engine(bundle, role, get_backend("ort-cpu"), Profile(capacity=256))  # type: ignore[arg-type]
    return bundle


def _part(folder: str, kind: Any, spec: GraphSpec, source: SourceEntry) -> Part:
    return Part(
        folder=folder,
        kind=kind,
        source=source,
        precision=spec.precision["body"],
        variant=spec.variant,
        opset=spec.opset,
        body_digest=spec.body_digest,
        map_digest=spec.map_digest,
        prior_digest=spec.prior_digest,
    )
