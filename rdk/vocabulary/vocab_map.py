"""VocabMap: the target ids that a pruned drafter keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class VocabMap:
    """Kept target ids, sorted and unique. `rows` is T, the target's logit rows."""

    target_ids: NDArray[np.int32]  # [D]
    rows: int  # T
    tokenizer_digest: str
