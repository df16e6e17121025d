"""The key of an engine: a digest of everything that can change it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from redraft._core.digest import digest_file, digest_json
from redraft._core.errors import InputFileError
from redraft.engines.base import Backend, Profile
from redraft.export.graph_spec import DATA_FILE, GRAPH_FILE, SPEC_FILE

GRAPH_FILES = (GRAPH_FILE, DATA_FILE, SPEC_FILE)
"""The files of a canonical graph."""
_KEY_LENGTH = 24


def graph_digest(folder: Path) -> str:
    """Digest of a canonical graph's files; InputFileError where one is missing. Reads all of them."""
    digests: dict[str, str] = {}
    for name in GRAPH_FILES:
        path = folder / name
        if not path.is_file():
            raise InputFileError(f"{path} is missing", hint="export the graph again with `redraft export`")
        digests[name] = digest_file(path)
    return digest_of_files(digests)


def digest_of_files(digests: Mapping[str, str]) -> str:
    """One digest of files' names and digests."""
    return digest_json(dict(digests))


def engine_key(graph: str, backend: Backend, profile: Profile) -> str:
    """Hex key from the graph's digest, the backend with its version and build options, and the profile."""
    return digest_json(
        {
            "graph": graph,
            "backend": backend.name,
            "version": backend.availability().version,
            "build": backend.build_identity(profile),
        }
    )[:_KEY_LENGTH]
