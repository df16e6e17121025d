"""Streaming detokenisation that never emits half a character."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_PROMPT_TAIL = 8
"""Prompt tokens that precede the output in the stream, so that its first word keeps its leading space."""


class Detokenizer:
    """Turns tokens into text as they come. Bytes of an unfinished character wait for the rest of it."""

    def __init__(
        self, tokenizer: Tokenizer, prompt_ids: Sequence[int] = (), *, skip_special_tokens: bool = True
    ) -> None:
        """`prompt_ids` are the tokens before the first one that is pushed."""
        from tokenizers.decoders import DecodeStream

        self._tokenizer = tokenizer
        self._stream = DecodeStream(
            ids=list(prompt_ids[-_PROMPT_TAIL:]), skip_special_tokens=skip_special_tokens
        )

    def push(self, token_id: int) -> str:
        """The text that this token completes, possibly empty."""
        return self._stream.step(self._tokenizer, token_id) or ""
