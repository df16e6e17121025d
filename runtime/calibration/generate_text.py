"""Text from the target itself: plain decoding of many prompts, several at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from redraft._core.digest import digest_json
from redraft._core.errors import UsageError
from redraft.engines.base import Engine
from redraft.runtime.text import TextTokenizer

from .batch_decoding import BatchDecoder
from .calibration_text import CalibrationText, TextSequence
from .prompts import RAW_TOPIC, CalibrationPrompt, built_in_prompts, prompts_digest
from .text_store import TextStore

Progress = Callable[[int, int], None]
"""Called with (tokens written, tokens wanted) after each chunk."""
DEFAULT_NUM_TOKENS = 6000
DEFAULT_TOKENS_PER_PROMPT = 128
DEFAULT_BATCH = 8


def generate_text(
    engine: Engine,
    tokenizer: TextTokenizer,
    prompts: Sequence[CalibrationPrompt] | None = None,
    *,
    num_tokens: int = DEFAULT_NUM_TOKENS,
    tokens_per_prompt: int = DEFAULT_TOKENS_PER_PROMPT,
    temperature: float = 1.0,
    seed: int = 0,
    batch: int = DEFAULT_BATCH,
    store: Path | None = None,
    identity: str = "",
    progress: Progress | None = None,
) -> CalibrationText:
    """At least `num_tokens` tokens written by the target, in whole sequences of up to `tokens_per_prompt`.

    The prompts come in an order drawn from `seed`, so that a short run sees many topics; when all are used
    they come again with other random numbers. A model with a chat template is asked through it (but for the
    topic `plain`). A prompt longer than what fits one call and the context is cut at its end.

    Args:
        engine: of the target. Decodes `batch` prompts in one call.
        prompts: the built-in list by default.
        temperature: 0 is greedy.
        seed: with the prompts and the engine it decides the text, whatever was interrupted.
        store: folder for finished chunks; a later call with the same settings goes on where this one stopped.
        identity: what else decides the text, such as the digest of the target's graph.

    Raises:
        UsageError: a number is out of range, or greedy decoding has used every prompt.
    """
    prompts = built_in_prompts() if prompts is None else prompts
    _check(num_tokens, tokens_per_prompt, temperature, batch, prompts)
    order = np.random.default_rng(seed).permutation(len(prompts))
    decoder = BatchDecoder(
        engine, tokenizer.info, batch=batch, max_tokens=tokens_per_prompt, temperature=temperature, seed=seed
    )
    settings = {
        "prompts": prompts_digest(prompts),
        "tokens_per_prompt": tokens_per_prompt,
        "temperature": temperature,
        "seed": seed,
        "batch": batch,
        "tokenizer": tokenizer.info.digest,
        "identity": identity,
    }
    chunks = None if store is None else TextStore(store, digest_json(settings))
    sequences: list[TextSequence] = []
    written = 0
    while written < num_tokens:
        first = len(sequences)
        if temperature == 0 and first >= len(prompts):
            raise UsageError(
                f"greedy decoding of {len(prompts)} prompts wrote {written} tokens, {num_tokens} are wanted",
                hint="give more prompts, more tokens a prompt, or a temperature above 0",
            )
        chunk = chunks.load(first // batch) if chunks is not None else None
        if chunk is None:
            chosen = [prompts[order[index % len(prompts)]] for index in range(first, first + batch)]
            chunk = decoder.decode([p.topic for p in chosen], [_encode(tokenizer, p) for p in chosen], first)
            if chunks is not None:
                chunks.save(first // batch, chunk)
        sequences += chunk
        written += sum(len(sequence.output_ids) for sequence in chunk)
        if progress is not None:
            progress(written, num_tokens)
    return CalibrationText(tuple(sequences))


def _encode(tokenizer: TextTokenizer, prompt: CalibrationPrompt) -> list[int]:
    if tokenizer.chat_template is None or prompt.topic == RAW_TOPIC:
        return tokenizer.encode(prompt.text)
    return tokenizer.encode_chat([{"role": "user", "content": prompt.text}])


def _check(
    num_tokens: int,
    tokens_per_prompt: int,
    temperature: float,
    batch: int,
    prompts: Sequence[CalibrationPrompt],
) -> None:
    for name, value in (("tokens", num_tokens), ("tokens_per_prompt", tokens_per_prompt), ("batch", batch)):
        if value < 1:
            raise UsageError(f"calibration: {name} is at least 1, got {value}")
    if not temperature >= 0:
        raise UsageError(f"calibration: temperature is at least 0, got {temperature}")
    if not prompts:
        raise UsageError("calibration: there is no prompt to start from")
