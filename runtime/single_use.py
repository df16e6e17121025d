"""SingleUse: a lock that answers instead of hanging when its own thread asks for it again."""

from __future__ import annotations

import threading

from redraft._core.errors import RedraftError


class SingleUse:
    """One user at a time. May be released by another thread than the one that took it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    def acquire(self) -> None:
        """Wait for one's turn. RedraftError where this thread holds it already: it would wait for itself."""
        if not self._lock.acquire(blocking=False):
            if self._owner == threading.get_ident():
                raise RedraftError(
                    "a stream of this LLM is still open in this thread", hint="finish it or call its close()"
                )
            self._lock.acquire()
        self._owner = threading.get_ident()

    def release(self) -> None:
        """Let the next one in."""
        self._owner = None
        self._lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()
