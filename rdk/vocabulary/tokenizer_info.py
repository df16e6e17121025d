"""TokenizerInfo: what the vocabulary and the runtime need to know of a tokenizer, and its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from redraft._core.atomic import atomic_file
from redraft._core.errors import InputFileError

FILE_NAME = "tokens.json"
TEXT, ADDED, BYTE = 0, 1, 2
"""Flags of a token: part of the model's text vocabulary, matched whole beside it (special or added), a
fallback byte.
"""


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """Facts of a tokenizer, in target ids.

    `size` is one more than the largest id; the logits may have more rows (padding) or fewer. `special_ids`:
    special, added and chat-template tokens, without the placeholders that no text holds. `byte_ids`: the ids
    that stand for one byte each, by which any text can be written. `stop_ids` end a generation. `digest`: see
    `token_digest`.
    """

    size: int
    digest: str
    bos_id: int | None
    add_bos: bool
    stop_ids: tuple[int, ...]
    special_ids: tuple[int, ...]
    byte_ids: tuple[int, ...]
    pad_id: int | None
    has_chat_template: bool

    @staticmethod
    def read(folder: Path) -> TokenizerInfo:
        """From `folder`/tokens.json. InputFileError: missing or damaged."""
        path = folder / FILE_NAME
        names = {field.name for field in fields(TokenizerInfo)}
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise InputFileError(f"{path} does not exist", hint="compile the bundle again") from error
        except (OSError, ValueError) as error:
            raise InputFileError(f"{path} cannot be read as JSON", hint="compile the bundle again") from error
        if not isinstance(values, dict) or set(values) != names:
            raise InputFileError(
                f"{path}: expected the fields {', '.join(sorted(names))}", hint="compile the bundle again"
            )
        settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return TokenizerInfo(**settings)

    def write(self, folder: Path) -> None:
        """To `folder`/tokens.json, whole or not at all."""
        with atomic_file(folder / FILE_NAME) as path:
            path.write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")


def token_digest(tokens: Iterable[tuple[int, bytes, int]]) -> str:
    """Hex SHA-256 over (id, the token's real bytes, flag) of every token, by ascending id.

    Each is written as id and length (int32 little-endian), flag (one byte) and the bytes, so that another
    file of the same tokenizer gives the same digest however it spells its tokens.
    """
    sha = hashlib.sha256()
    for token_id, value, flag in sorted(tokens):
        sha.update(token_id.to_bytes(4, "little") + len(value).to_bytes(4, "little") + bytes((flag,)) + value)
    return sha.hexdigest()
