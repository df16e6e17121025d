"""The tokens of a tokenizer.json as (id, bytes, flag), whatever way the file spells them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from redraft.rdk.vocabulary.tokenizer_info import ADDED, BYTE, TEXT

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_PLACEHOLDER = re.compile(
    r"<unused\d+>|\[unused\d+\]|<\|reserved_special_token_\d+\|>|\[PAD\d+\]|<\|reserved_\d+\|>"
)


def byte_alphabet() -> dict[str, int]:
    """Character -> byte of byte-level BPE: printable Latin-1 stands for itself, the rest for 256 and up
    (GPT-2).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(rest)}


def token_table(tokenizer: Mapping[str, Any]) -> dict[int, tuple[bytes, int]]:
    """id -> (the bytes that the token writes, TEXT, ADDED or BYTE).

    `tokenizer` is the content of a tokenizer.json. ▁ is a space, <0xNN> a byte, byte-level characters are
    their bytes.
    """
    spell = _byte_level if is_byte_level(tokenizer) else _sentencepiece
    vocab = tokenizer["model"]["vocab"]
    pairs = vocab.items() if isinstance(vocab, Mapping) else ((entry[0], n) for n, entry in enumerate(vocab))
    table = {token_id: spell(token) for token, token_id in pairs}
    for added in tokenizer.get("added_tokens") or ():
        content = added["content"] if is_byte_level(tokenizer) else added["content"].replace("▁", " ")
        table[added["id"]] = (content.encode(), ADDED)
    return table


def single_byte_ids(tokenizer: Mapping[str, Any], table: Mapping[int, tuple[bytes, int]]) -> list[int]:
    """The ids by which any text can be written: <0xNN> tokens, or the alphabet of byte-level BPE."""
    wanted = TEXT if is_byte_level(tokenizer) else BYTE
    return sorted(i for i, (value, flag) in table.items() if flag == wanted and len(value) == 1)


def is_placeholder(value: bytes) -> bool:
    """True for tokens that only fill an id, as `<unused12>`: no text holds them."""
    return _PLACEHOLDER.fullmatch(value.decode(errors="replace")) is not None


def is_byte_level(tokenizer: Mapping[str, Any]) -> bool:
    """True where tokens are spelled in the byte-level alphabet."""
    return any('"ByteLevel"' in _kinds(tokenizer.get(part)) for part in ("decoder", "pre_tokenizer"))


def _kinds(part: Any) -> str:
    if isinstance(part, Mapping):
        return f'"{part.get("type")}"' + "".join(_kinds(value) for value in part.values())
    return "".join(_kinds(item) for item in part) if isinstance(part, list) else ""


def _byte_level(token: str) -> tuple[bytes, int]:
    try:
        return bytes(_ALPHABET[character] for character in token), TEXT
    except KeyError:
        return token.encode(), TEXT


def _sentencepiece(token: str) -> tuple[bytes, int]:
    match = _BYTE_TOKEN.fullmatch(token)
    return (bytes((int(match[1], 16),)), BYTE) if match else (token.replace("▁", " ").encode(), TEXT)


_ALPHABET = byte_alphabet()
