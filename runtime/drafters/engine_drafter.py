"""EngineDrafter: a pruned model with RDK in its graph. Kinds `self` and `model` are the same at run time."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.runtime.decoding.cached_model import CachedModel
from redraft.runtime.decoding.draft_round import DraftRound

from .base import Drafter


class EngineDrafter(Drafter):
    """Drafts with one engine call a token. Its graph returns redistributed logits over all target ids."""

    def __init__(self, model: CachedModel) -> None:
        """`model`: the drafter's engine with its own cache."""
        self.model = model

    def propose(self, token_ids: Sequence[int], draft: DraftRound) -> None:
        """Ingest the unseen tokens in one call (chunked for a prompt), then one call for each further draft.

        The last draft is not ingested: whether it stands is not known yet.
        """
        token = draft.add(self.model.extend(token_ids[self.model.length :])[0])
        while not draft.done:
            token = draft.add(self.model.extend([token])[0])

    def commit(self, length: int) -> None:
        """Move the length counter back, if it stands beyond `length`."""
        self.model.rollback(min(length, self.model.length))
