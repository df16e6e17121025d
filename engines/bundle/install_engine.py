"""Building an engine of a bundle's graph and writing it down in the manifest."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from redraft.engines.base import Backend, Profile
from redraft.engines.cache import build_cached, engine_key, graph_digest
from redraft.engines.cache.engine_key import GRAPH_FILES, digest_of_files
from redraft.export.graph_spec import Role

from .bundle import ENGINES_FOLDER, Bundle
from .manifest import EngineEntry, ProfileEntry
from .manifest_io import describe_files, write_manifest


def install_engine(
    bundle: Bundle, role: Role, backend: Backend, profile: Profile
) -> tuple[Bundle, EngineEntry]:
    """The bundle with an engine of `role` in `engines/<backend>/<key>/`, and its manifest entry.

    Builds only where no such engine is there: the key covers the graph, backend, versions, profile and
    options. An entry of the same role and backend is replaced. UnavailableError where the backend cannot
    work here.
    """
    graph = bundle.graph_folder(role)
    graph_sha = _recorded_digest(bundle, role) or graph_digest(graph)
    key = engine_key(graph_sha, backend, profile)
    folder = build_cached(backend, graph, profile, bundle.folder / ENGINES_FOLDER, key)
    report = folder.report
    relative = folder.path.relative_to(bundle.folder).as_posix()
    entry = EngineEntry(
        role=role,
        backend=backend.name,
        backend_version=report.backend_version,
        key=key,
        folder=relative,
        graph_digest=graph_sha,
        profile=ProfileEntry(**dataclasses.asdict(profile)),
        options=report.options,
        passes=report.passes,
        seconds=report.seconds,
    )
    if entry in bundle.manifest.engines:
        return bundle, entry
    return _record(bundle, entry, relative), entry


def _record(bundle: Bundle, entry: EngineEntry, relative: str) -> Bundle:
    old = bundle.manifest
    kept = [item for item in old.engines if (item.role, item.backend) != (entry.role, entry.backend)]
    files = {**old.files, **describe_files(bundle.folder, [Path(relative)])}
    manifest = old.model_copy(update={"engines": (*kept, entry), "files": files})
    write_manifest(bundle.folder, manifest)
    return Bundle(bundle.folder, manifest)


def _recorded_digest(bundle: Bundle, role: Role) -> str | None:
    """`graph_digest` from the manifest's digests, without reading the files again."""
    folder = bundle.part(role).folder
    entries = {name: bundle.manifest.files.get(f"{folder}/{name}") for name in GRAPH_FILES}
    found = {name: entry.sha256 for name, entry in entries.items() if entry is not None}
    return digest_of_files(found) if len(found) == len(entries) else None
