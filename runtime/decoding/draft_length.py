"""How many tokens to draft in a round: a fixed number, or DISCO's threshold on the drafter's confidence.

Every rule here looks only at tokens that are already drafted, and keeps the token after which it stops, so
the output's law does not depend on it. State belongs to one request: neighbours and load cannot change a
request's text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Protocol

import numpy as np


class DraftLengthPolicy(Protocol):
    """Decides after each drafted token whether to go on."""

    max_drafts: int
    needs_confidence: bool

    def stop_after(self, confidence: float) -> bool:
        """Whether to verify now; `confidence` is the drafter's own probability of the token just drafted."""
        ...

    def update(self, confidences: Sequence[float], num_accepted: int) -> None:
        """Learn from a round: the first `num_accepted` drafts were accepted, the next was not."""
        ...


class FixedLength:
    """Always `max_drafts` tokens."""

    needs_confidence = False

    def __init__(self, max_drafts: int) -> None:
        self.max_drafts = max_drafts

    def stop_after(self, confidence: float) -> bool:
        """Never early."""
        return False

    def update(self, confidences: Sequence[float], num_accepted: int) -> None:
        """Nothing to learn."""


class ConfidenceThreshold:
    """Stop after a token whose confidence is below a threshold that follows the request's verifications.

    The threshold minimises false positive rate + 3 x false negative rate over the recent (confidence,
    accepted) pairs, once there are `min_samples` of both outcomes together (DISCO, arXiv 2405.04304, in the
    unsupervised form of transformers). Confidence is the unwarped softmax, so that the rule works at
    temperature 0 too.
    """

    needs_confidence = True

    def __init__(
        self, max_drafts: int, *, threshold: float = 0.4, min_samples: int = 6, history: int = 256
    ) -> None:
        self.max_drafts, self.threshold, self._min_samples = max_drafts, threshold, min_samples
        self._pairs: deque[tuple[float, bool]] = deque(maxlen=history)

    def stop_after(self, confidence: float) -> bool:
        """Whether the token just drafted was an unsure one."""
        return confidence < self.threshold

    def update(self, confidences: Sequence[float], num_accepted: int) -> None:
        """Record the judged drafts (up to the first rejection) and move the threshold."""
        judged = min(len(confidences), num_accepted + 1)
        self._pairs.extend((confidences[i], i < num_accepted) for i in range(judged))
        if len(self._pairs) >= self._min_samples:
            scores, accepted = (np.array(column) for column in zip(*self._pairs, strict=True))
            if accepted.any() and not accepted.all():
                self.threshold = best_threshold(scores, accepted)


def best_threshold(
    scores: np.ndarray[tuple[int], np.dtype[np.float64]], accepted: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> float:
    """The score that minimises FPR + 3 (1 - TPR) over (score, accepted) pairs [n]; ties: the highest.

    Both arrays are [n]; both outcomes must occur.
    """
    order = np.argsort(-scores, kind="stable")
    scores, accepted = scores[order], accepted[order]
    last_of_tie = np.append(scores[1:] != scores[:-1], True)
    true_rate = (np.cumsum(accepted) / accepted.sum())[last_of_tie]
    false_rate = (np.cumsum(~accepted) / (~accepted).sum())[last_of_tie]
    return float(scores[last_of_tie][np.argmin(false_rate + 3 * (1 - true_rate))])
