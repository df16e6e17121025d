"""Building a VocabMap: the tokens that always stay, then the best by a score, then the lowest ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError, UsageError

from .tokenizer_info import TokenizerInfo
from .vocab_map import VocabMap


@dataclass(frozen=True, slots=True)
class MapBuild:
    """A map and how it came about: kept because they always are, by their score, and to fill up by id."""

    vocab_map: VocabMap
    num_always: int
    num_scored: int
    num_filled: int

    @property
    def note(self) -> str:
        """One sentence for the user."""
        text = f"keeps {self.vocab_map.num_hot} of {self.vocab_map.rows} rows: {self.num_always} always kept"
        text += f", {self.num_scored} by score"
        if self.num_filled:
            text += f", and {self.num_filled} by lowest id because no more tokens were seen"
        return text


def always_kept(tokenizer: TokenizerInfo, rows: int) -> NDArray[np.int64]:
    """Sorted target ids that every map keeps: special, added, chat-template, stop, byte-fallback tokens."""
    ids = {*tokenizer.special_ids, *tokenizer.stop_ids, *tokenizer.byte_ids}
    ids |= {i for i in (tokenizer.bos_id, tokenizer.pad_id) if i is not None}
    return np.array(sorted(i for i in ids if 0 <= i < rows), dtype=np.int64)


def count_tokens(streams: Iterable[NDArray[np.integer]], rows: int) -> NDArray[np.int64]:
    """[T] int64: how often each target id occurs. InputFileError where an id is outside [0, rows)."""
    counts = np.zeros(rows, dtype=np.int64)
    for stream in streams:
        ids = np.asarray(stream, dtype=np.int64).ravel()
        if ids.size and (ids.min() < 0 or ids.max() >= rows):
            outside = int(ids.max() if ids.max() >= rows else ids.min())
            raise InputFileError(f"token id {outside} is outside the model's {rows} rows")
        counts += np.bincount(ids, minlength=rows)
    return counts


def build_from_scores(
    scores: NDArray[np.number],  # [T]
    tokenizer: TokenizerInfo,
    *,
    keep: float | None = None,
    size: int | None = None,
) -> MapBuild:
    """The map of the highest scores: counts of tokens, or a mean probability row of the target.

    Exactly one of `keep` (a fraction of T, 0 < keep <= 1) and `size` (D) is given. Tokens of score 0 count as
    not seen. Ties and the fill go to the lower id, so that the same scores give the same map everywhere.

    Raises UsageError: keep or size out of range, or too small for the tokens that are always kept.
    """
    rows = int(scores.size)
    num_tokens = min(tokenizer.size, rows)
    wanted = min(map_size(rows, keep=keep, size=size), num_tokens)
    always = always_kept(tokenizer, rows)
    if always.size > wanted:
        raise UsageError(
            f"a map of {wanted} rows cannot hold the {always.size} special and byte tokens that must stay",
            hint=f"keep at least {always.size / rows:.4f} of the vocabulary",
        )
    if not np.isfinite(scores).all() or (scores < 0).any():
        raise InputFileError("the scores of tokens must be finite and not negative")
    rest = np.ones(num_tokens, dtype=np.bool_)
    rest[always[always < num_tokens]] = False
    candidates = np.flatnonzero(rest)
    order = candidates[np.argsort(-scores[candidates].astype(np.float64), kind="stable")]
    chosen = order[: wanted - always.size]
    num_scored = int((scores[chosen] > 0).sum())
    ids = np.sort(np.concatenate([always, chosen])).astype(np.int32)
    vocab_map = VocabMap(ids, rows, tokenizer.digest, num_tokens)
    return MapBuild(vocab_map, int(always.size), num_scored, int(chosen.size) - num_scored)


def build_from_ids(target_ids: NDArray[np.integer], tokenizer: TokenizerInfo, *, rows: int) -> MapBuild:
    """The map of the listed ids, in any order, and of the tokens that are always kept.

    Raises InputFileError: an id is listed twice or is no token of the tokenizer.
    """
    ids = np.sort(np.asarray(target_ids, dtype=np.int64).ravel())
    num_tokens = min(tokenizer.size, rows)
    if ids.size and (ids[0] < 0 or ids[-1] >= num_tokens):
        outside = int(ids[0] if ids[0] < 0 else ids[-1])
        raise InputFileError(f"id {outside} is outside the vocabulary of {num_tokens} tokens")
    if (np.diff(ids) == 0).any():
        raise InputFileError(f"id {int(ids[:-1][np.diff(ids) == 0][0])} is listed twice")
    always = always_kept(tokenizer, rows)
    both = np.union1d(ids, always).astype(np.int32)
    vocab_map = VocabMap(both, rows, tokenizer.digest, num_tokens)
    return MapBuild(vocab_map, int(always.size), int(both.size - always.size), 0)


def identity_map(tokenizer: TokenizerInfo, rows: int) -> VocabMap:
    """The map that keeps every token; padding rows are no tokens."""
    num_tokens = min(tokenizer.size, rows)
    return VocabMap(np.arange(num_tokens, dtype=np.int32), rows, tokenizer.digest, num_tokens)


def map_size(rows: int, *, keep: float | None = None, size: int | None = None) -> int:
    """D for a fraction or a number of T rows. UsageError: both, none, or out of range."""
    if (keep is None) == (size is None):
        raise UsageError("give either the fraction of the vocabulary to keep or the number of tokens")
    if keep is not None:
        if not 0.0 < keep <= 1.0:
            raise UsageError(
                f"the fraction of the vocabulary to keep must be above 0 and at most 1, got {keep}",
                hint="for example keep = 0.1",
            )
        return max(1, round(keep * rows))
    assert size is not None
    if not 1 <= size <= rows:
        raise UsageError(f"the number of tokens to keep must be 1 to {rows}, got {size}")
    return size
