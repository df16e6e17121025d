"""SamplingParams: how one request is decoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from redraft._core.errors import RequestError

from .decoding.warp import WarpParams
from .keywords import check_keywords


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Parameters of a request, by vLLM's names. What is not supported yet is refused by name, never ignored.

    temperature: 0 is greedy. top_k: 0 or -1 is off. The order is temperature, top-k, top-p, min-p.
    seed: in [0, 2**64); None draws a fresh one. The same seed gives the same text, whatever runs beside it.
    max_tokens: None goes on as far as the context does.
    stop: strings that end the text; stop_token_ids: tokens that do, beside the model's own (unless
        ignore_eos).
    """

    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    stop: str | Sequence[str] | None = None
    stop_token_ids: Sequence[int] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 256
    min_tokens: int = 0
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    logit_bias: Mapping[int, float] | None = None
    allowed_token_ids: Sequence[int] | None = None
    bad_words: Sequence[str] | None = None
    skip_special_tokens: bool = True
    include_stop_str_in_output: bool = False

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        """Refuse unknown names with the nearest known one, before the generated initialiser sees them."""
        known = [field.name for field in fields(cls)]
        check_keywords(keywords, known, owner="SamplingParams", error=RequestError)
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for name in _NOT_YET:
            if getattr(self, name) != type(self).default(name):
                raise RequestError(f"{name} is not supported yet, leave it at its default", param=name)
        for name in ("temperature", "top_p", "min_p"):
            _require(name, getattr(self, name), _is_number, "a number")
        _require("top_k", self.top_k, _is_int, "an integer")
        _require("seed", self.seed, lambda v: v is None or (_is_int(v) and 0 <= v < 2**64), "in [0, 2**64)")
        _require("max_tokens", self.max_tokens, lambda v: v is None or (_is_int(v) and v >= 1), "at least 1")
        for name in ("ignore_eos", "skip_special_tokens", "include_stop_str_in_output"):
            _require(name, getattr(self, name), lambda v: isinstance(v, bool), "true or false")
        _require("stop", self.stop, _is_stop, "a string or a list of strings, none empty")
        _require("stop_token_ids", self.stop_token_ids, _is_id_list, "a list of token ids")
        self.warp  # noqa: B018 - its ranges are checked by WarpParams

    @classmethod
    def default(cls, name: str) -> Any:
        """A field's default value."""
        return next(field.default for field in fields(cls) if field.name == name)

    @property
    def warp(self) -> WarpParams:
        """How logits become a law."""
        return WarpParams(float(self.temperature), self.top_k, float(self.top_p), float(self.min_p))

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """`stop` as a tuple."""
        if self.stop is None:
            return ()
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)


_NOT_YET = (
    "n",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "min_tokens",
    "logprobs",
    "prompt_logprobs",
    "logit_bias",
    "allowed_token_ids",
    "bad_words",
)


def _require(name: str, value: Any, holds: Any, wanted: str) -> None:
    if not holds(value):
        raise RequestError(f"{name}: expected {wanted}, got {value!r}", param=name)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_stop(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return value != ""
    return isinstance(value, Sequence) and all(isinstance(item, str) and item for item in value)


def _is_id_list(value: Any) -> bool:
    return value is None or (
        isinstance(value, Sequence) and all(_is_int(item) and item >= 0 for item in value)
    )
