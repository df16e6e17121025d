"""Refusing unknown names with the nearest known one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from redraft._core.errors import RedraftError


def check_keywords(
    given: Iterable[str], known: Iterable[str], *, owner: str, error: type[RedraftError]
) -> None:
    """Raise `error` for the first given name that is not known."""
    known = list(known)
    for name in given:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            guess = f"; did you mean '{nearest[0]}'?" if nearest else f"; known are {', '.join(known)}"
            raise error(f"{owner} has no option '{name}'{guess}")
