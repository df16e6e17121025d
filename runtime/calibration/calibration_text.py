"""CalibrationText: token sequences that the target wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.digest import digest_json


@dataclass(frozen=True, slots=True)
class TextSequence:
    """A prompt and what the target wrote after it, both target ids. `output_ids` holds the stop id that ended
    it.
    """

    topic: str
    prompt_ids: tuple[int, ...]
    output_ids: tuple[int, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """Prompt and output."""
        return self.prompt_ids + self.output_ids

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads back."""
        return {"topic": self.topic, "prompt_ids": list(self.prompt_ids), "output_ids": list(self.output_ids)}

    @staticmethod
    def from_json(value: dict[str, Any]) -> TextSequence:
        """The sequence that `to_json` wrote."""
        return TextSequence(value["topic"], tuple(value["prompt_ids"]), tuple(value["output_ids"]))


@dataclass(frozen=True, slots=True)
class CalibrationText:
    """Sequences in the order in which they were written."""

    sequences: tuple[TextSequence, ...]

    @property
    def num_tokens(self) -> int:
        """Tokens that the target wrote; the prompts' tokens do not count."""
        return sum(len(sequence.output_ids) for sequence in self.sequences)

    @property
    def digest(self) -> str:
        """Hex SHA-256 of every sequence."""
        return digest_json([sequence.to_json() for sequence in self.sequences])

    def outputs(self) -> Iterator[NDArray[np.int64]]:
        """The written target ids of each sequence: what a vocabulary map counts."""
        for sequence in self.sequences:
            yield np.array(sequence.output_ids, np.int64)

    def tokens_by_topic(self) -> dict[str, int]:
        """Topic -> tokens written, by name."""
        counts: Counter[str] = Counter()
        for sequence in self.sequences:
            counts[sequence.topic] += len(sequence.output_ids)
        return dict(sorted(counts.items()))

    def split(self, every: int) -> tuple[CalibrationText, CalibrationText]:
        """(the rest, every `every`-th sequence): text to fit on and text held out, disjoint by sequence."""
        held_out = self.sequences[every - 1 :: every]
        rest = tuple(s for i, s in enumerate(self.sequences) if (i + 1) % every)
        return CalibrationText(rest), CalibrationText(held_out)
