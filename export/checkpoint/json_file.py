"""JSON files of a checkpoint, read with errors that name them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from redraft._core.errors import InputFileError


def read_json_object(path: Path) -> dict[str, Any]:
    """The object in `path`. InputFileError: missing, unreadable, not JSON, or not an object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputFileError(f"{path} does not exist") from error
    except OSError as error:
        raise InputFileError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputFileError(f"{path} is not valid JSON") from error
    if not isinstance(value, dict):
        raise InputFileError(f"{path}: expected a JSON object")
    return value


def read_json_object_if_there(path: Path) -> dict[str, Any]:
    """As `read_json_object`, but an empty object where there is no such file."""
    return read_json_object(path) if path.exists() else {}
