"""Drafter: the contract between the loop and whoever proposes tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from redraft.runtime.decoding.draft_round import DraftRound


class Drafter(ABC):
    """Proposes tokens from a law that it states.

    Each row of its logits goes through `DraftRound.add`, which draws the token.
    """

    @abstractmethod
    def propose(self, token_ids: Sequence[int], draft: DraftRound) -> None:
        """Fill `draft` with tokens after `token_ids` (prompt and output so far), at least one, until `done`.

        Ingests first what of `token_ids` it has not seen: the whole prompt in the first round.
        """

    @abstractmethod
    def commit(self, length: int) -> None:
        """Only the first `length` tokens seen (or proposed) stand: forget the rest.

        0 begins another request.
        """
