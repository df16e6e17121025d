"""Check: one verdict of `redraft verify`, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """A named claim, whether it held, its figures, and one sentence for the screen.

    `ok` is None where the check could not be made here; `sentence` then says why. A skipped check is never a
    pass.
    """

    name: str
    ok: bool | None
    sentence: str
    figures: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """A JSON object with the four fields."""
        return {"name": self.name, "ok": self.ok, "sentence": self.sentence, "figures": self.figures}


def passed(checks: list[Check]) -> bool:
    """Whether at least one check was made and none failed."""
    return any(check.ok for check in checks) and all(check.ok is not False for check in checks)
