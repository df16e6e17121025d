"""The `tokenizer/` folder of a bundle, written from a tokenizer.json and the settings beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redraft._core.atomic import atomic_file
from redraft.rdk.vocabulary.tokenizer_info import ADDED, TokenizerInfo, token_digest

from .token_table import is_placeholder, single_byte_ids, token_table

TURN_ENDERS = (b"<|im_end|>", b"<end_of_turn>", b"<|eot_id|>")
"""Tokens that end a turn of a chat; they stop a generation wherever the tokenizer has one as a special token.
"""


@dataclass(frozen=True, slots=True)
class TokenizerSettings:
    """What a checkpoint says of its tokenizer outside tokenizer.json. `stop_ids`: what its configs name as
    end tokens.
    """

    bos_token: str | None
    eos_token: str | None
    pad_token: str | None
    unk_token: str | None
    add_bos: bool
    stop_ids: tuple[int, ...]
    chat_template: str | None


def write_bundle_files(text: str, settings: TokenizerSettings, folder: Path) -> None:
    """Write tokenizer.json (`text`), tokenizer_config.json, chat_template.jinja (where there is one) and
    tokens.json.
    """
    named = ("bos_token", "eos_token", "pad_token", "unk_token")
    config: dict[str, Any] = {
        name: getattr(settings, name) for name in named if getattr(settings, name) is not None
    }
    config |= {"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": settings.add_bos}
    _write(folder / "tokenizer.json", text)
    _write(folder / "tokenizer_config.json", json.dumps(config, indent=1, ensure_ascii=False) + "\n")
    if settings.chat_template is not None:
        _write(folder / "chat_template.jinja", settings.chat_template)
    tokenizer_info(json.loads(text), settings).write(folder)


def tokenizer_info(tokenizer: Mapping[str, Any], settings: TokenizerSettings) -> TokenizerInfo:
    """The facts of a tokenizer.json's content and its settings."""
    table = token_table(tokenizer)
    ids = {value: token_id for token_id, (value, flag) in table.items() if flag == ADDED}
    ids = {value: token_id for token_id, (value, _) in table.items() if value not in ids} | ids
    named = {name: _id_of(getattr(settings, f"{name}_token"), ids) for name in ("bos", "eos", "pad", "unk")}
    enders = {ids[value] for value in TURN_ENDERS if value in ids and table[ids[value]][1] == ADDED}
    eos = set() if named["eos"] is None else {named["eos"]}
    stop_ids = {token_id for token_id in settings.stop_ids if token_id in table} | eos | enders
    template = settings.chat_template or ""
    added = {
        token_id
        for token_id, (value, flag) in table.items()
        if flag == ADDED and (not is_placeholder(value) or value.decode(errors="replace") in template)
    }
    special = added | stop_ids | {token_id for token_id in named.values() if token_id is not None}
    return TokenizerInfo(
        size=max(table) + 1,
        digest=token_digest((token_id, value, flag) for token_id, (value, flag) in table.items()),
        bos_id=named["bos"],
        add_bos=settings.add_bos and named["bos"] is not None,
        stop_ids=tuple(sorted(stop_ids)),
        special_ids=tuple(sorted(special)),
        byte_ids=tuple(single_byte_ids(tokenizer, table)),
        pad_id=named["pad"],
        has_chat_template=settings.chat_template is not None,
    )


def _id_of(token: str | None, ids: Mapping[bytes, int]) -> int | None:
    return None if token is None else ids.get(token.encode())


def _write(path: Path, text: str) -> None:
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
