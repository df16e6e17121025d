"""SHA-256 digests of bytes, arrays and files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

_CHUNK = 1 << 22


def digest_bytes(*parts: bytes) -> str:
    """Hex SHA-256 of the parts, each preceded by its length so that boundaries count."""
    sha = hashlib.sha256()
    for part in parts:
        sha.update(len(part).to_bytes(8, "little"))
        sha.update(part)
    return sha.hexdigest()


def digest_json(value: Any) -> str:
    """Hex SHA-256 of a JSON value with sorted keys and no white space."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def digest_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes, read in chunks."""
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            sha.update(chunk)
    return sha.hexdigest()
