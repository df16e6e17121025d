"""`rdk_prior.safetensors`: an RdkPrior as a file, the arrays as tensors, the rest as one JSON string."""

from __future__ import annotations

import json
from pathlib import Path

from redraft._core.atomic import atomic_file
from redraft._core.errors import InputFileError, MismatchError
from redraft.rdk.array_file import read_arrays, write_arrays

from .check import check_arrays
from .rdk_prior import RdkPrior

FORMAT = "redraft-rdk-prior-1"
_HINT = "make it again: redraft prior fit"


def save_prior(prior: RdkPrior, path: Path) -> None:
    """Write `prior` to `path`, whole or not at all."""
    check_arrays(prior)
    facts = {
        "kind": prior.kind,
        "map_digest": prior.map_digest,
        "body_digest": prior.body_digest,
        "scalars": prior.scalars,
        "fit": prior.fit,
        "digest": prior.digest,
    }
    with atomic_file(path) as temporary:
        write_arrays(temporary, prior.arrays, {"format": FORMAT, "prior": json.dumps(facts)})


def load_prior(path: Path) -> RdkPrior:
    """Read what `save_prior` wrote.

    InputFileError: missing, damaged, or of an unknown kind; MismatchError: the arrays are not those that the
    file's digest was made of. Whether it belongs to a map and a body is `check_prior`'s question.
    """
    arrays, metadata = read_arrays(path)
    try:
        facts = json.loads(metadata["prior"])
        prior = RdkPrior(
            facts["kind"],
            facts["map_digest"],
            facts["body_digest"],
            arrays,
            facts["scalars"],
            facts["fit"],
        )
        digest = facts["digest"]
    except (KeyError, TypeError, ValueError) as error:
        raise InputFileError(f"{path} is no prior of redraft", hint=_HINT) from error
    try:
        check_arrays(prior)
    except InputFileError as error:
        raise InputFileError(f"{path}: {error.message}", hint=error.hint) from error
    if prior.digest != digest:
        raise MismatchError(
            f"{path}: its content has digest {prior.digest[:12]}, but it was written with {digest[:12]}",
            hint=_HINT,
        )
    return prior
