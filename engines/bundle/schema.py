"""The manifest's JSON Schema, committed beside this module.

`python -m redraft.engines.bundle.schema` writes it anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .manifest import Manifest

SCHEMA_FILE = Path(__file__).with_name("manifest.schema.json")


def manifest_schema() -> dict[str, Any]:
    """The JSON Schema of `manifest.json`."""
    schema = Manifest.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


if __name__ == "__main__":
    SCHEMA_FILE.write_text(json.dumps(manifest_schema(), indent=1) + "\n")
