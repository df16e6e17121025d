"""Text: tokenizer, chat templates, streaming detokenisation and stop strings."""

from __future__ import annotations

from .chat_template import Message, render_chat
from .detokenizer import Detokenizer
from .stop_strings import StopStrings
from .tokenizer import TextTokenizer

__all__ = ["Detokenizer", "Message", "StopStrings", "TextTokenizer", "render_chat"]
