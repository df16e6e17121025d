"""The tokenizer of a Hugging Face folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from redraft._core.errors import InputFileError, UnavailableError

from .bundle_files import TokenizerSettings, write_bundle_files


def write_hf_tokenizer(source: Path, folder: Path) -> None:
    """Write the bundle's tokenizer files from the checkpoint folder `source`.

    tokenizer.json is taken as it is, but for truncation and padding, which would cut prompts unasked. Where
    there is none, transformers converts what there is (UnavailableError where it cannot).
    """
    path = source / "tokenizer.json"
    text = _read(path) if path.exists() else _converted(source)
    try:
        tokenizer = json.loads(text)
        tokenizer["model"]["vocab"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputFileError(f"{path} is not a tokenizer.json, or it is damaged") from error
    if tokenizer.get("truncation") or tokenizer.get("padding"):
        text = json.dumps({**tokenizer, "truncation": None, "padding": None}, ensure_ascii=False)
    write_bundle_files(text, _settings(source, text), folder)


def _settings(source: Path, text: str) -> TokenizerSettings:
    config = _json(source / "special_tokens_map.json") | _json(source / "tokenizer_config.json")
    named = {name: _content(config.get(f"{name}_token")) for name in ("bos", "eos", "pad", "unk")}
    stated = config.get("add_bos_token")
    return TokenizerSettings(
        bos_token=named["bos"],
        eos_token=named["eos"],
        pad_token=named["pad"],
        unk_token=named["unk"],
        add_bos=stated if isinstance(stated, bool) else _adds_bos(text, named["bos"]),
        stop_ids=tuple(sorted(set(_stop_ids(source)))),
        chat_template=_chat_template(source, config),
    )


def _adds_bos(text: str, bos_token: str | None) -> bool:
    """Whether the tokenizer itself puts BOS before a text."""
    from tokenizers import Tokenizer

    encoded: list[str] = Tokenizer.from_str(text).encode("a").tokens
    return bos_token is not None and bool(encoded) and encoded[0] == bos_token


def _stop_ids(source: Path) -> Iterable[int]:
    """`eos_token_id` of config.json (or its text part) and generation_config.json: an integer or a list of
    them.
    """
    config = _json(source / "config.json")
    for values in (config, config.get("text_config") or {}, _json(source / "generation_config.json")):
        stated = values.get("eos_token_id")
        yield from stated if isinstance(stated, list) else [] if stated is None else [stated]


def _chat_template(source: Path, config: Mapping[str, Any]) -> str | None:
    """chat_template.jinja, else `chat_template` of tokenizer_config.json or chat_template.json (the one named
    default).
    """
    path = source / "chat_template.jinja"
    if path.exists():
        return _read(path)
    template = config.get("chat_template") or _json(source / "chat_template.json").get("chat_template")
    if isinstance(template, list):
        template = next((entry["template"] for entry in template if entry.get("name") == "default"), None)
    return template if isinstance(template, str) else None


def _converted(source: Path) -> str:
    try:
        from transformers import AutoTokenizer

        return str(AutoTokenizer.from_pretrained(source, use_fast=True).backend_tokenizer.to_str())
    except ImportError as error:
        raise UnavailableError(
            f"{source} has no tokenizer.json, and converting its tokenizer failed: {error}",
            hint="pip install transformers sentencepiece protobuf",
        ) from error
    except Exception as error:  # transformers raises many kinds for files that it cannot read
        reason = (str(error).strip().splitlines() or [repr(error)])[0]
        raise InputFileError(
            f"{source} has no tokenizer.json, and its tokenizer cannot be converted: {reason}"
        ) from error


def _content(token: Any) -> str | None:
    """A token that is given as text or as an object with `content`."""
    token = token.get("content") if isinstance(token, Mapping) else token
    return token if isinstance(token, str) else None


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_read(path)) if path.exists() else {}
    except ValueError as error:
        raise InputFileError(f"{path} is not valid JSON") from error
    return value if isinstance(value, dict) else {}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputFileError(f"cannot read {path}") from error
