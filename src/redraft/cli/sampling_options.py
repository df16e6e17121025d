"""Options of the verbs that decode: how tokens are drawn, and how a bundle is loaded for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redraft._core.errors import UsageError

if TYPE_CHECKING:
    from redraft.engines.bundle import Bundle
    from redraft.runtime.text import TextTokenizer

MaxTokens = Annotated[int, typer.Option("--max-tokens", min=1, help="Most tokens to write.")]
Temperature = Annotated[float, typer.Option("--temperature", help="0 is greedy: always the likeliest token.")]
TopK = Annotated[int, typer.Option("--top-k", help="Draw among the k likeliest tokens; 0 is off.")]
TopP = Annotated[
    float, typer.Option("--top-p", help="Draw among the likeliest tokens that hold this mass; 1 is off.")
]
MinP = Annotated[
    float,
    typer.Option(
        "--min-p", help="Drop tokens below this fraction of the likeliest one's probability; 0 is off."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="The same seed gives the same text. [default: a fresh one, reported]"),
]
Deterministic = Annotated[
    bool,
    typer.Option(
        "--deterministic",
        help="Decode at one width, so that greedy text with and without drafting is equal token for token.",
    ),
]
NoSpeculation = Annotated[bool, typer.Option("--no-speculation", help="Decode with the target alone.")]
NumSpeculativeTokens = Annotated[
    int | None,
    typer.Option(
        "--num-speculative-tokens", "-k", min=0, help="Most drafted tokens a round. [default: the recipe's]"
    ),
]
DraftPolicy = Annotated[
    str | None,
    typer.Option(
        "--draft-policy",
        help="`fixed`, or `confidence`: stop drafting after an unsure token. [default: the recipe's]",
    ),
]
Raw = Annotated[
    bool, typer.Option("--raw", help="Send the prompt as it is, even where the model has a chat template.")
]


def parse_speculative_config(text: str | None) -> dict[str, Any] | None:
    """The JSON object of `--speculative-config`; UsageError where it is none."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--speculative-config: expected a JSON object: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"--speculative-config: expected a JSON object, got {text}")
    return value


def resolved_options(folder: Path, **options: Any) -> tuple[Bundle, dict[str, Any]]:
    """The opened bundle, and the options as `LLM` would resolve them over the bundle's recipe."""
    from redraft.engines.bundle import Bundle
    from redraft.runtime.options import bundle_defaults, resolve_options

    bundle = Bundle.open(folder)
    part = bundle.manifest.drafter
    drafter = None if part is None else (part.kind, part.source.uri)
    return bundle, asdict(resolve_options(bundle_defaults(bundle.folder), drafter=drafter, **options))


def prompt_ids(tokenizer: TextTokenizer, text: str, *, raw: bool, system: str | None = None) -> list[int]:
    """Target ids of a prompt: through the chat template where the model has one, unless `raw`."""
    if raw or tokenizer.chat_template is None:
        if system is not None:
            raise UsageError("--system needs a chat template: this model has none, or --raw was given")
        return tokenizer.encode(text) if text else []
    messages: list[Mapping[str, Any]] = [{"role": "user", "content": text}]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    return tokenizer.encode_chat(messages)
