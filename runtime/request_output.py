"""What a request returns: whole, and piece by piece."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from .decoding.stats import DecodingStats

FinishReason = Literal["stop", "length", "abort", "error"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of a request, all from the tokens that were returned.

    `accepted_prediction_tokens` are drafts that were returned, `rejected_prediction_tokens` the other drafts.
    """

    prompt_tokens: int
    completion_tokens: int
    accepted_prediction_tokens: int = 0
    rejected_prediction_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompt and completion."""
        return self.prompt_tokens + self.completion_tokens

    def to_json(self) -> dict[str, Any]:
        """OpenAI's usage object."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens,
            "completion_tokens_details": {
                "accepted_prediction_tokens": self.accepted_prediction_tokens,
                "rejected_prediction_tokens": self.rejected_prediction_tokens,
            },
        }


@dataclass(frozen=True, slots=True)
class CompletionOutput:
    """One completion.

    `token_ids` hold the stop token, `text` does not; `stop_reason` is the stop string or id.
    """

    index: int
    text: str
    token_ids: list[int]
    finish_reason: FinishReason
    stop_reason: int | str | None = None


@dataclass(frozen=True, slots=True)
class RequestOutput:
    """A finished request. `seed` repeats it; `prompt` is None where ids were given."""

    prompt: str | None
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput]
    usage: Usage
    stats: DecodingStats
    seed: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of a stream. The last one carries `finish_reason` and the whole `output`."""

    text: str
    token_ids: list[int] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    output: RequestOutput | None = None
