"""Loading a bundle's engine after checking that everything belongs together."""

from __future__ import annotations

from pathlib import Path

from redraft._core.errors import MismatchError, UnavailableError
from redraft.engines.base import Engine, LoadOptions
from redraft.engines.registry import DEFAULT_BACKEND, get_backend
from redraft.export.graph_spec import GraphSpec, Role

from .bundle import VOCAB_MAP_FILE, Bundle
from .check_files import require_files
from .manifest import EngineEntry


def load_engine(
    bundle: Bundle, role: Role, backend: str = DEFAULT_BACKEND, options: LoadOptions | None = None
) -> Engine:
    """The engine of `role` for `backend`.

    UnavailableError where the backend does not work here or no such engine was built; MismatchError where
    graph, map and manifest do not belong together or another backend version built it; InputFileError for
    damaged files.
    """
    availability = get_backend(backend).availability()
    if not availability.ok:
        raise UnavailableError(f"backend '{backend}': {availability.reason}", hint=availability.hint)
    entry = _find(bundle, role, backend)
    require_files(bundle.folder, bundle.manifest, under=entry.folder)
    folder = bundle.folder / entry.folder
    check_belongs(bundle, role, GraphSpec.read(folder), folder)
    if availability.version is not None and entry.backend_version != availability.version:
        raise MismatchError(
            f"engine '{role}' was built with {backend} {entry.backend_version}, "
            f"{availability.version} is installed",
            hint=f"build it again with `redraft build {bundle.folder} --backend {backend}`",
        )
    return get_backend(backend).load(folder, options or LoadOptions())


def check_belongs(bundle: Bundle, role: Role, spec: GraphSpec, folder: Path) -> None:
    """MismatchError unless role, map, prior and body are the manifest's, and the map file's digest too."""
    part = bundle.part(role)
    wanted = {
        "role": (spec.role, role),
        "vocabulary map": (spec.map_digest, part.map_digest),
        "RDK prior": (spec.prior_digest, part.prior_digest),
        "drafter body": (spec.body_digest, part.body_digest),
    }
    for what, (found, expected) in wanted.items():
        if found != expected:
            raise MismatchError(
                f"{folder} has {what} {_short(found)}, the manifest says {_short(expected)}",
                hint="compile the recipe again with `redraft compile`",
            )
    if spec.map_digest is not None and (bundle.folder / VOCAB_MAP_FILE).is_file():
        _check_map_file(bundle, spec.map_digest)


def _check_map_file(bundle: Bundle, digest: str) -> None:
    from redraft.rdk.vocabulary import VocabMap

    found = VocabMap.load(bundle.vocab_map_file).digest
    if found != digest:
        raise MismatchError(
            f"{bundle.vocab_map_file} has digest {_short(found)}, "
            f"the drafter's graph was made for {_short(digest)}",
            hint="put the bundle's own map back, or compile the recipe again with `redraft compile`",
        )


def _find(bundle: Bundle, role: Role, backend: str) -> EngineEntry:
    for entry in bundle.engines(role):
        if entry.backend == backend:
            return entry
    raise UnavailableError(
        f"bundle {bundle.folder} has no {backend} engine for the {role}",
        hint=f"build it with `redraft build {bundle.folder} --backend {backend}`",
    )


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]
