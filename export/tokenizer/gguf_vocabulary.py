"""GgufVocabulary: the `tokenizer.ggml.*` lists of a GGUF file, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redraft._core.errors import InputFileError

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""GGUF's token types."""
_PADDING = re.compile(r"\[PAD\d+\]")


@dataclass(frozen=True, slots=True)
class GgufVocabulary:
    """Tokens by id with their types; `merges` of byte-level BPE, `scores` of SentencePiece (empty where not
    stored).
    """

    kind: str  # tokenizer.ggml.model
    pre: str  # tokenizer.ggml.pre
    tokens: list[str]
    types: list[int]
    merges: list[str]
    scores: list[float]
    add_space_prefix: bool

    @staticmethod
    def from_metadata(metadata: Mapping[str, Any], where: Path) -> GgufVocabulary:
        """InputFileError: the lists are missing or their lengths do not agree."""
        own = {key.removeprefix("tokenizer.ggml."): value for key, value in metadata.items()}
        tokens = own.get("tokens")
        if not isinstance(tokens, list) or not tokens:
            raise InputFileError(
                f"{where} holds no tokenizer", hint="use a file that was converted with its vocabulary"
            )
        types = own.get("token_type") or [NORMAL] * len(tokens)
        scores = own.get("scores") or []
        if len(types) != len(tokens) or len(scores) not in (0, len(tokens)):
            raise InputFileError(f"{where}: the tokenizer's lists differ in length")
        kind = str(own.get("model", ""))
        if kind == "llama" and not scores:
            raise InputFileError(f"{where}: the tokenizer holds no scores")
        return GgufVocabulary(
            kind=kind,
            pre=str(own.get("pre", "default")),
            tokens=tokens,
            types=types,
            merges=own.get("merges") or [],
            scores=scores,
            add_space_prefix=bool(own.get("add_space_prefix", True)),
        )

    def ids(self) -> dict[str, int]:
        """token -> id, without the padding that fills the logits' rows."""
        return {
            token: index
            for index, (token, kind) in enumerate(zip(self.tokens, self.types, strict=True))
            if not (kind == UNUSED and _PADDING.fullmatch(token))
        }

    def tokens_of_kinds(self, kinds: tuple[int, ...]) -> list[tuple[str, int]]:
        """(token, type) of the tokens of these types, by id."""
        return [(token, kind) for token, kind in zip(self.tokens, self.types, strict=True) if kind in kinds]
