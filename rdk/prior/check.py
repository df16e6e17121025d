"""Whether a prior is well formed, and whether it belongs to a map and to a drafter body."""

from __future__ import annotations

import math

import numpy as np

from redraft._core.errors import InputFileError, MismatchError
from redraft.rdk.vocabulary.vocab_map import VocabMap

from .rdk_prior import KINDS, RdkPrior

_ARRAYS: dict[str, dict[str, tuple[str, ...]]] = {
    "tli": {},
    "shift": {"hot_shift": ("D",)},
    "dense": {"kernel": ("D", "T")},
    "first-order": {"factor": ("T", "r")},
    "bucket": {"state": ("1", "E"), "cold_log_prior": ("C",)},
    "low-rank": {"state": ("r", "E"), "cold": ("C", "r"), "cold_bias": ("C",), "hot_shift": ("D",)},
}
_SCALARS: dict[str, tuple[str, ...]] = {
    "dense": ("epsilon",),
    "first-order": ("epsilon", "tau"),
    "bucket": ("log_num_cold",),
}
_HINT = "make it again: redraft prior fit"


def check_arrays(prior: RdkPrior) -> None:
    """Raise InputFileError unless kind, arrays, dtypes and scalars are what the kind needs, all finite."""
    if prior.kind not in KINDS:
        raise InputFileError(f"prior kind '{prior.kind}' is unknown; the kinds are {', '.join(KINDS)}")
    expected = _ARRAYS[prior.kind]
    if set(prior.arrays) != set(expected):
        raise InputFileError(
            f"prior of kind {prior.kind}: expected the arrays {sorted(expected)}, got {sorted(prior.arrays)}",
            hint=_HINT,
        )
    for name, axes in expected.items():
        array = prior.arrays[name]
        if array.dtype != np.float32 or array.ndim != len(axes):
            raise InputFileError(
                f"prior array '{name}': expected float32 [{', '.join(axes)}], "
                f"got {array.dtype.name} {list(array.shape)}",
                hint=_HINT,
            )
        if not np.isfinite(array).all():
            raise InputFileError(f"prior array '{name}' holds values that are not finite", hint=_HINT)
    _check_scalars(prior)


def check_prior(
    prior: RdkPrior,
    vocab_map: VocabMap,
    *,
    body_digest: str | None = None,
    hidden_size: int | None = None,
) -> None:
    """Raise MismatchError unless `prior` was made for this map, body and hidden size.

    Raises InputFileError as `check_arrays` does.
    """
    check_arrays(prior)
    for noun, bound, found in (
        ("vocabulary map", prior.map_digest, vocab_map.digest),
        ("drafter body", prior.body_digest, body_digest),
    ):
        if found is not None and bound != found:
            raise MismatchError(
                f"the prior was made for {noun} {bound[:12]}, not for {found[:12]}",
                hint="fit the prior again for this drafter: redraft prior fit",
            )
    sizes = {"D": vocab_map.num_hot, "T": vocab_map.rows, "C": vocab_map.num_cold, "1": 1}
    if hidden_size is not None:
        sizes["E"] = hidden_size
    for name, axes in _ARRAYS[prior.kind].items():
        for axis, size in zip(axes, prior.arrays[name].shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                raise MismatchError(
                    f"prior array '{name}' [{', '.join(axes)}]: expected {axis} = {sizes[axis]}, got {size}",
                    hint="fit the prior again for this drafter: redraft prior fit",
                )


def _check_scalars(prior: RdkPrior) -> None:
    expected = _SCALARS.get(prior.kind, ())
    if set(prior.scalars) != set(expected):
        raise InputFileError(
            f"prior of kind {prior.kind}: expected the scalars {sorted(expected)}, "
            f"got {sorted(prior.scalars)}",
            hint=_HINT,
        )
    for name, value in prior.scalars.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InputFileError(f"prior scalar '{name}' must be a finite number, got {value}", hint=_HINT)
    if "epsilon" in expected and not 0.0 <= prior.scalars["epsilon"] <= 1.0:
        raise InputFileError(f"prior scalar 'epsilon' must lie in [0, 1], got {prior.scalars['epsilon']}")
    if "tau" in expected and prior.scalars["tau"] <= 0.0:
        raise InputFileError(f"prior scalar 'tau' must be positive, got {prior.scalars['tau']}")
