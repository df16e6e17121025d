"""TextTokenizer: text to target ids and back, from a bundle's `tokenizer/` folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redraft._core.errors import InputFileError, RequestError
from redraft.rdk.vocabulary.tokenizer_info import TokenizerInfo

from .chat_template import Message, render_chat
from .detokenizer import Detokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_SPECIAL_NAMES = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")


class TextTokenizer:
    """A tokenizer with its chat template.

    Encoding never adds special tokens but the one BOS that the model wants.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        info: TokenizerInfo,
        *,
        chat_template: str | None = None,
        special_tokens: dict[str, str] | None = None,
    ) -> None:
        """`special_tokens`: `bos_token` and the like -> text, for the template."""
        self.info = info
        self.chat_template = chat_template
        self._tokenizer, self._special_tokens = tokenizer, special_tokens or {}

    @staticmethod
    def read(folder: Path) -> TextTokenizer:
        """The tokenizer stored in `folder`; InputFileError where a file is missing or damaged."""
        from tokenizers import Tokenizer

        info = TokenizerInfo.read(folder)
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise InputFileError(f"{folder} holds no tokenizer.json", hint="compile the bundle again")
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception
            raise InputFileError(f"{path} is damaged: {error}", hint="compile the bundle again") from None
        template = folder / "chat_template.jinja"
        return TextTokenizer(
            tokenizer,
            info,
            chat_template=template.read_text(encoding="utf-8") if template.is_file() else None,
            special_tokens=_read_special_tokens(folder / "tokenizer_config.json"),
        )

    def encode(self, text: str) -> list[int]:
        """Target ids of a prompt, after BOS where the model wants it.

        Special tokens in the text are recognised.
        """
        ids = self._ids(text)
        bos = self.info.bos_id
        return [bos, *ids] if self.info.add_bos and bos is not None else ids

    def encode_chat(self, messages: Sequence[Message], **variables: Any) -> list[int]:
        """Target ids of a conversation; `variables` go to the template.

        Its text holds BOS where it wants one.
        """
        return self._ids(self.render_chat(messages, **variables))

    def _ids(self, text: str) -> list[int]:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise RequestError(
                "the prompt is no valid Unicode text: it holds a lone surrogate",
                param="prompt",
                hint="give the prompt as UTF-8",
            ) from None
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def render_chat(self, messages: Sequence[Message], **variables: Any) -> str:
        """The prompt text of a conversation."""
        return render_chat(self.chat_template, messages, special_tokens=self._special_tokens, **variables)

    def decode(self, target_ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """The text of a whole sequence."""
        text: str = self._tokenizer.decode(list(target_ids), skip_special_tokens=skip_special_tokens)
        return text

    def detokenizer(self, prompt_ids: Sequence[int], *, skip_special_tokens: bool = True) -> Detokenizer:
        """A streaming decoder for the tokens after `prompt_ids`."""
        return Detokenizer(self._tokenizer, prompt_ids, skip_special_tokens=skip_special_tokens)


def _read_special_tokens(path: Path) -> dict[str, str]:
    """The named special tokens of a tokenizer_config.json, given as text or as an object with `content`."""
    if not path.is_file():
        return {}
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputFileError(f"{path} is damaged: {error}", hint="compile the bundle again") from None
    tokens = {name: config.get(name) for name in _SPECIAL_NAMES}
    texts = {
        name: token.get("content") if isinstance(token, dict) else token for name, token in tokens.items()
    }
    return {name: text for name, text in texts.items() if isinstance(text, str)}
