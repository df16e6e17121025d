"""Which class is which kind, and what remains of a kind when nothing is pruned."""

from __future__ import annotations

from redraft._core.errors import UsageError

from .base import Redistribution
from .bucket import Bucket
from .dense import Dense
from .first_order import FirstOrder
from .low_rank import LowRank
from .shift import Shift, UnprunedShift
from .tli import Tli
from .unpruned import Unpruned

_KINDS: dict[str, Redistribution] = {
    r.kind: r for r in (Tli(), Shift(), Dense(), FirstOrder(), Bucket(), LowRank())
}
_UNPRUNED: dict[str, Redistribution] = {
    "tli": Unpruned(),
    "bucket": Unpruned(),
    "shift": UnprunedShift(),
    "low-rank": UnprunedShift(),
}


def redistribution(kind: str, *, identity: bool = False) -> Redistribution:
    """The implementation of `kind`; with `identity` (every row is kept) the cheaper one that it reduces to.

    Raises UsageError for an unknown kind.
    """
    if kind not in _KINDS:
        raise UsageError(f"prior kind '{kind}' is unknown", hint=f"the kinds are {', '.join(_KINDS)}")
    return _UNPRUNED.get(kind, _KINDS[kind]) if identity else _KINDS[kind]
