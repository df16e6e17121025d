"""Loading a bundle's engines into a Decoder."""

from __future__ import annotations

from redraft._core.errors import UsageError
from redraft.engines.base import Engine, LoadOptions
from redraft.engines.bundle import Bundle, load_engine
from redraft.engines.registry import DEFAULT_BACKEND
from redraft.rdk.vocabulary.vocab_map import VocabMap

from .decoding import Decoder
from .options import LLMOptions


def load_decoder(
    bundle: Bundle,
    options: LLMOptions,
    *,
    backend: str | None,
    load: LoadOptions,
    num_tokens: int,
    deterministic: bool,
) -> Decoder:
    """A decoder over the bundle's engines for `backend`; nothing stays loaded when a step fails."""
    backend = backend or DEFAULT_BACKEND
    entry = next((entry for entry in bundle.engines("target") if entry.backend == backend), None)
    if entry is not None and options.num_speculative_tokens + 1 > entry.profile.max_decode:
        raise UsageError(
            f"num_speculative_tokens {options.num_speculative_tokens} needs calls of "
            f"{options.num_speculative_tokens + 1} tokens, the engines take {entry.profile.max_decode}"
        )
    engines: list[Engine] = []
    try:
        engines.append(load_engine(bundle, "target", backend, load))
        if options.speculative:
            engines.append(load_engine(bundle, "drafter", backend, load))
        positions = min(engine.spec.max_positions for engine in engines)
        return Decoder(
            *engines,
            num_tokens=num_tokens,
            context=min(options.context, positions),
            capacity=options.cache_capacity,
            num_speculative_tokens=options.num_speculative_tokens,
            draft_policy=options.draft_policy,
            deterministic=deterministic,
            prefill_chunk=512 if entry is None else entry.profile.max_prefill,
            vocab_map=VocabMap.load(bundle.vocab_map_file) if options.speculative else None,
        )
    except BaseException:
        for engine in engines:
            engine.close()
        raise
