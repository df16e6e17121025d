"""Stop strings that may begin in one token and end in another."""

from __future__ import annotations

from collections.abc import Sequence


class StopStrings:
    """Cuts a text at the stop string that is complete first, wherever the text is split into pieces.

    What could still become a stop string is held back.
    """

    def __init__(self, stops: Sequence[str], *, include: bool = False) -> None:
        """`include`: the stop string itself belongs to the text."""
        self.matched: str | None = None
        self._stops, self._include, self._held = tuple(stops), include, ""

    def push(self, text: str) -> str:
        """The text that is certain after this piece; `matched` is set when it ends here."""
        if not self._stops:
            return text
        self._held += text
        found = [(at + len(stop), at, stop) for stop in self._stops if (at := self._held.find(stop)) >= 0]
        if found:
            end, start, self.matched = min(found)
            certain, self._held = self._held[: end if self._include else start], ""
            return certain
        keep = max(_overlap(self._held, stop) for stop in self._stops)
        certain = self._held[: len(self._held) - keep]
        self._held = self._held[len(self._held) - keep :]
        return certain

    def flush(self) -> str:
        """What was held back, when no more text comes."""
        certain, self._held = self._held, ""
        return certain


def _overlap(text: str, stop: str) -> int:
    """Length of the longest proper prefix of `stop` that ends `text`."""
    return next(size for size in range(min(len(stop) - 1, len(text)), -1, -1) if text.endswith(stop[:size]))
