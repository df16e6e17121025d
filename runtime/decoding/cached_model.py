"""CachedModel: an engine, its cache and a length counter for each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import RedraftError, UnsupportedError
from redraft.engines.base import Call, Engine

_LOGITS = {"logits": "logits", "redistributed": "draft_logits"}


class CachedModel:
    """Forward calls on a warm cache. `lengths[b]` counts the slots of row b that hold tokens which count.

    Rolling back moves a counter: slots past it are overwritten by the next call and never read before.
    """

    def __init__(
        self, engine: Engine, *, capacity: int, context: int, batch: int = 1, prefill_chunk: int = 512
    ) -> None:
        """Allocate `batch` rows of `capacity` slots; tokens may stand at positions below `context`."""
        variant = engine.spec.variant
        if variant not in _LOGITS:
            raise UnsupportedError(
                f"decoding needs logits over the target vocabulary; this graph is '{variant}'"
            )
        self.engine = engine
        self.cache = engine.allocate_cache(batch, capacity)
        self.context, self.capacity, self.prefill_chunk = context, capacity, prefill_chunk
        self.lengths = np.zeros(batch, np.int64)  # [B]
        self._logits = _LOGITS[variant]

    @property
    def length(self) -> int:
        """Tokens in the cache of row 0."""
        return int(self.lengths[0])

    def forward(
        self,
        token_ids: NDArray[np.int64],  # [B, S]
        logit_rows: NDArray[np.int64],  # [B, R]
        num_new: NDArray[np.int64] | int | None = None,  # [B]
    ) -> NDArray[np.float32]:
        """Logits [B, R, T] float32 of these rows; lengths grow by `num_new`, S by default.

        Tokens past `num_new` are padding. A view: valid until the next call of the same shape.
        RedraftError where the call passes context or capacity.
        """
        width = token_ids.shape[1]
        grown = self.lengths + (width if num_new is None else num_new)
        if int(grown.max()) > self.context:
            raise RedraftError(
                f"a call would reach {int(grown.max())} tokens, the context holds {self.context}"
            )
        if int(self.lengths.max()) + width > self.capacity:
            raise RedraftError(
                f"a call of {width} tokens at length {int(self.lengths.max())} passes the cache's "
                f"{self.capacity} slots",
                hint="raise cache_capacity to at least the context plus the widest call",
            )
        positions = self.lengths[:, None] + np.arange(width)
        np.minimum(positions, self.context - 1, out=positions)  # only padding can stand past the context
        outputs = self.engine.run(Call(token_ids, positions, self.lengths.copy(), logit_rows), self.cache)
        self.lengths = grown
        return outputs[self._logits]

    def extend(
        self, token_ids: Sequence[int], *, num_logits: int = 1, width: int | None = None
    ) -> NDArray[np.float32]:
        """Logits [num_logits, T] of the last of these new tokens (batch 1); a long row goes in chunks.

        `width` pads the last call to that many tokens *and* rows of logits, so that its arithmetic does not
        depend on how many tokens count.
        """
        assert self.lengths.size == 1
        assert 0 < num_logits <= len(token_ids)
        fed = self._feed_chunks(token_ids, keep=num_logits)
        rest = np.array([token_ids[fed:]], np.int64)
        count = rest.shape[1]
        if width is None or width <= count:
            rows = np.arange(count - num_logits, count)[None]
            logits: NDArray[np.float32] = self.forward(rest, rows)[0]
            return logits
        padded = np.zeros((1, width), np.int64)
        padded[0, :count] = rest
        logits = self.forward(padded, np.arange(width)[None], count)[0, count - num_logits : count]
        return logits

    def prefill(self, token_ids: Sequence[int]) -> None:
        """Write a row of tokens (batch 1) into the cache, in chunks."""
        fed = self._feed_chunks(token_ids, keep=0)
        assert fed == len(token_ids)

    def rollback(self, length: int | NDArray[np.int64]) -> None:
        """Keep the first `length` tokens (of each row)."""
        assert (self.lengths >= length).all(), "a rollback cannot lengthen the cache"
        self.lengths = np.full_like(self.lengths, length)

    def _feed_chunks(self, token_ids: Sequence[int], keep: int) -> int:
        """Feed chunks while more than one is left (with `keep` 0: everything); the number of tokens fed."""
        fed, total = 0, len(token_ids)
        while total - fed > (max(self.prefill_chunk, keep) if keep else 0):
            stop = min(fed + self.prefill_chunk, total - keep)
            chunk = np.array([token_ids[fed:stop]], np.int64)
            self.forward(chunk, np.array([[stop - fed - 1]], np.int64))
            fed = stop
        return fed
