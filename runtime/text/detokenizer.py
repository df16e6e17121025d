"""Streaming detokenisation that never emits half a character."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_INCOMPLETE = "\ufffd"
_PROMPT_TAIL = 8
"""Prompt tokens that precede the output in the stream, so that its first word keeps its leading space."""


class Detokenizer:
    """Turns tokens into text as they come. Bytes of an unfinished character wait for the rest of it."""

    def __init__(
        self, tokenizer: Tokenizer, prompt_ids: Sequence[int] = (), *, skip_special_tokens: bool = True
    ) -> None:
        """`prompt_ids` are the tokens before the first one that is pushed."""
        from tokenizers.decoders import DecodeStream

        size = _PROMPT_TAIL
        tail = list(prompt_ids[-size:])
        while size < len(prompt_ids) and not tokenizer.decode(tail, skip_special_tokens):
            size *= 2  # special tokens only: go back to text
            tail = list(prompt_ids[-size:])
        whole = len(tail)  # a prompt of ids may end within a character: its bytes belong to what follows
        while whole and tokenizer.decode(tail[:whole], skip_special_tokens).endswith(_INCOMPLETE):
            whole -= 1
        self._tokenizer = tokenizer
        self._stream = DecodeStream(ids=tail[:whole], skip_special_tokens=skip_special_tokens)
        for token_id in tail[whole:]:
            self._stream.step(tokenizer, token_id)

    def push(self, token_id: int) -> str:
        """The text that this token completes, possibly empty."""
        return self._stream.step(self._tokenizer, token_id) or ""
