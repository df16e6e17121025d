"""What a report says about the bundle that it measured."""

from __future__ import annotations

from redraft.engines.bundle import Bundle
from redraft.export.graph_spec import Role
from redraft.rdk.vocabulary import VocabMap

from .report import Digests, ModelPart

_WORDS = {
    "fp32": "float32, not rounded",
    "fp16": "float16",
    "bf16": "bfloat16",
    "int8": "int8, blocks of 32, integer zero points",
    "int4": "int4, blocks of 32, integer zero points",
    "source-exact": "the source file's own blocks, exactly",
}


def describe_part(bundle: Bundle, role: Role, backend: str) -> ModelPart:
    """The model of `role` and its engine for `backend`."""
    part, spec = bundle.part(role), bundle.spec(role)
    entry = next(item for item in bundle.engines(role) if item.backend == backend)
    formats = [f"{name} {_WORDS[spec.precision[name]]}" for name in ("body", "embedding", "head")]
    same = len({spec.precision[name] for name in ("body", "embedding", "head")}) == 1
    return ModelPart(
        source=part.source.uri,
        source_format=part.source.format,
        source_bits=part.source.quantized_bits,
        kind=part.kind,
        precision=part.precision,
        quantization=_WORDS[spec.precision["body"]] if same else "; ".join(formats),
        backend=backend,
        backend_version=entry.backend_version,
        engine_key=entry.key,
        passes=entry.passes,
    )


def describe_digests(bundle: Bundle, prompts_digest: str) -> Digests:
    """Digests of all that the measurement depends on."""
    manifest = bundle.manifest
    return Digests(
        tokenizer=manifest.tokenizer_digest,
        map=manifest.map_digest,
        prior=None if manifest.prior is None else manifest.prior.digest,
        body=None if manifest.drafter is None else manifest.drafter.body_digest,
        prompts=prompts_digest,
    )


def kept_share(bundle: Bundle) -> float | None:
    """Kept rows by all rows of the vocabulary; None without a drafter."""
    if bundle.manifest.drafter is None:
        return None
    return VocabMap.load(bundle.vocab_map_file).keep
