"""VocabMap: the target ids that a pruned drafter keeps."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError, MismatchError


@dataclass(frozen=True, slots=True, eq=False)
class VocabMap:
    """Kept target ids, sorted, unique and absolute; row i of the pruned head is token `target_ids[i]`.

    `rows` is T, the target's logit rows. Rows from `num_tokens` on are padding: no token of the tokenizer has
    such an id, so they are never kept and never get probability. Maps are compared by their digests.

    Raises InputFileError where the ids are not int32 [D] with D >= 1, sorted, unique and in [0, num_tokens).
    """

    target_ids: NDArray[np.int32]  # [D]
    rows: int  # T
    tokenizer_digest: str
    num_tokens: int = 0  # 0 stands for `rows`: no padding

    def __post_init__(self) -> None:
        if self.num_tokens == 0:
            object.__setattr__(self, "num_tokens", self.rows)
        if not 1 <= self.num_tokens <= self.rows:
            raise InputFileError(
                f"vocabulary map: expected 1 to {self.rows} tokens in {self.rows} rows, got {self.num_tokens}"
            )
        _check_ids(self.target_ids, self.num_tokens)

    @property
    def digest(self) -> str:
        """Hex SHA-256 over T and the kept ids, int32 little-endian."""
        sha = hashlib.sha256(np.array([self.rows], "<i4").tobytes())
        sha.update(self.target_ids.astype("<i4").tobytes())
        return sha.hexdigest()

    @property
    def num_hot(self) -> int:
        """D, the kept rows."""
        return int(self.target_ids.size)

    @property
    def num_cold(self) -> int:
        """C = T - D, the pruned rows, padding included."""
        return self.rows - self.num_hot

    @property
    def keep(self) -> float:
        """D / T."""
        return self.num_hot / self.rows

    @property
    def is_identity(self) -> bool:
        """Whether every row is kept: draft ids are target ids, and redistribution has nothing to move."""
        return self.num_hot == self.rows

    @property
    def hot_ids(self) -> NDArray[np.int64]:
        """[D] int64: the kept ids, as index operators want them."""
        return self.target_ids.astype(np.int64)

    @property
    def cold_ids(self) -> NDArray[np.int64]:
        """[C] int64: the pruned ids, ascending, padding rows last."""
        pruned = np.ones(self.rows, dtype=np.bool_)
        pruned[self.target_ids] = False
        return np.flatnonzero(pruned)

    def check_tokenizer(self, digest: str) -> None:
        """Raise MismatchError unless the map was made for the tokenizer of this digest."""
        if self.tokenizer_digest != digest:
            raise MismatchError(
                f"the vocabulary map is for tokenizer {self.tokenizer_digest[:12]}, not for {digest[:12]}",
                hint="build the map again for this model: redraft vocab build",
            )

    def save(self, path: Path) -> None:
        """Write `vocab_map.safetensors`: see `vocab_map_file`."""
        from .vocab_map_file import save_vocab_map

        save_vocab_map(self, path)

    @staticmethod
    def load(path: Path) -> VocabMap:
        """The map that `save` wrote, every check made again. InputFileError says what is wrong with it."""
        from .vocab_map_file import load_vocab_map

        return load_vocab_map(path)


def _check_ids(target_ids: NDArray[np.int32], num_tokens: int) -> None:
    if target_ids.dtype != np.int32 or target_ids.ndim != 1:
        raise InputFileError(
            f"vocabulary map: expected int32 [D] ids, got {target_ids.dtype.name} {list(target_ids.shape)}"
        )
    if target_ids.size == 0:
        raise InputFileError("vocabulary map: it keeps no token", hint="keep at least one token")
    steps = np.diff(target_ids.astype(np.int64))
    if (steps < 0).any():
        raise InputFileError(
            "vocabulary map: the ids are not sorted in ascending order",
            hint="redraft vocab import sorts and checks a list of ids",
        )
    if (steps == 0).any():
        twice = int(target_ids[:-1][steps == 0][0])
        raise InputFileError(f"vocabulary map: id {twice} is listed twice")
    if target_ids[0] < 0 or target_ids[-1] >= num_tokens:
        outside = int(target_ids[0] if target_ids[0] < 0 else target_ids[-1])
        raise InputFileError(
            f"vocabulary map: id {outside} is outside the vocabulary of {num_tokens} tokens",
            hint="the map belongs to another model; build it again: redraft vocab build",
        )
