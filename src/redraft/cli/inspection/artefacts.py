"""What redraft's own files and folders are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from redraft._core.errors import InputFileError

from .identify import Description


def describe_bundle(folder: Path) -> Description:
    """A bundle: its parts, engines and size."""
    from redraft.engines.bundle import Bundle

    manifest = Bundle.open(folder).manifest
    parts: dict[str, Any] = {"target": manifest.target}
    if manifest.drafter is not None:
        parts["drafter"] = manifest.drafter
    facts: dict[str, Any] = {
        "name": manifest.name,
        "notice": manifest.notice,
        "made_by": f"redraft {manifest.redraft_version}",
        "bytes": sum(entry.size for entry in manifest.files.values()),
        "prior": None if manifest.prior is None else manifest.prior.kind,
        "map_digest": manifest.map_digest,
    }
    for role, part in parts.items():
        facts[role] = {
            "kind": part.kind,
            "precision": part.precision,
            "variant": part.variant,
            "source": part.source.uri,
            "source_format": part.source.format,
            "license": part.source.license,
        }
    facts["engines"] = {
        f"{entry.role}, {entry.backend} {entry.backend_version}": entry.folder for entry in manifest.engines
    }
    return Description("bundle", facts)


def describe_graph(folder: Path) -> Description:
    """A canonical graph, from its graph.json."""
    from redraft.export.graph_spec import GraphSpec

    spec = GraphSpec.read(folder)
    facts = {
        "role": spec.role,
        "variant": spec.variant,
        "precision": spec.precision,
        "sizes": spec.sizes,
        "max_positions": spec.max_positions,
        "cache_dtype": spec.cache_dtype,
        "opset": spec.opset,
        "prior": spec.prior_kind,
        "map_digest": spec.map_digest,
        "body_digest": spec.body_digest,
        "inputs": {item.name: f"{item.dtype} {list(item.axes)}" for item in spec.inputs},
        "outputs": {item.name: f"{item.dtype} {list(item.axes)}" for item in spec.outputs},
    }
    return Description("graph", facts)


def describe_engine(folder: Path) -> Description:
    """A built engine, from its build.json."""
    try:
        facts: dict[str, Any] = json.loads((folder / "build.json").read_text())
    except ValueError as error:
        raise InputFileError(f"{folder / 'build.json'} is damaged: {error}", hint="build it again") from None
    return Description("engine", facts)


def describe_tokenizer(folder: Path) -> Description:
    """A bundle's tokenizer folder, from its tokens.json."""
    from redraft.rdk.vocabulary import TokenizerInfo

    info = TokenizerInfo.read(folder)
    facts = {
        "tokens": info.size,
        "digest": info.digest,
        "bos_id": info.bos_id,
        "adds_bos": info.add_bos,
        "stop_ids": list(info.stop_ids),
        "special_tokens": len(info.special_ids),
        "byte_tokens": len(info.byte_ids),
        "chat_template": info.has_chat_template,
    }
    return Description("tokenizer", facts)


def describe_recipe(path: Path) -> Description:
    """A recipe with every default filled in."""
    from redraft.cli.recipe import load_recipe

    return Description("recipe", load_recipe(path).to_json())


def describe_safetensors(path: Path) -> Description:
    """A vocabulary map, an RDK prior, or the weights of a checkpoint."""
    names = tensor_names(path)
    if "vocab_map" in names:
        return describe_map(path)
    if is_prior(path):
        return describe_prior(path)
    return Description("safetensors file (not redraft's)", {"tensors": len(names), "first": names[:5]})


def describe_map(path: Path) -> Description:
    """A vocabulary map."""
    from redraft.rdk.vocabulary import VocabMap

    vocab_map = VocabMap.load(path)
    kept = len(vocab_map.target_ids)
    facts = {
        "kept": kept,
        "rows": vocab_map.rows,
        "ratio": kept / vocab_map.rows,
        "digest": vocab_map.digest,
        "tokenizer_digest": vocab_map.tokenizer_digest,
    }
    return Description("vocabulary map", facts)


def describe_prior(path: Path) -> Description:
    """An RDK prior."""
    from redraft.rdk.prior import load_prior

    prior = load_prior(path)
    facts = {
        "kind": prior.kind,
        "map_digest": prior.map_digest,
        "body_digest": prior.body_digest,
        "arrays": {name: list(array.shape) for name, array in prior.arrays.items()},
        "scalars": dict(prior.scalars),
        "fit": dict(prior.fit),
    }
    return Description("RDK prior", facts)


def tensor_names(path: Path) -> list[str]:
    """Names in a safetensors file; InputFileError where it is none."""
    return sorted(_header(path).keys() - {"__metadata__"})


def is_prior(path: Path) -> bool:
    """Whether the file's metadata name a kind of prior and what it is bound to."""
    metadata = _header(path).get("__metadata__", {})
    return any("map_digest" in str(key) or "map_digest" in str(value) for key, value in metadata.items())


def _header(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > path.stat().st_size:
            raise InputFileError(f"{path} is no safetensors file, or truncated")
        try:
            header = json.loads(file.read(length))
        except ValueError:
            raise InputFileError(f"{path} is no safetensors file, or damaged") from None
    return header if isinstance(header, dict) else {}
