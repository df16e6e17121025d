"""The JSON Schema of the bench report, committed beside this module.

`python -m redraft.runtime.profiling.schema` writes it anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .report import BenchReport

SCHEMA_FILE = Path(__file__).with_name("bench.schema.json")


def bench_schema() -> dict[str, Any]:
    """The JSON Schema of `redraft bench --json`."""
    schema = BenchReport.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


if __name__ == "__main__":
    SCHEMA_FILE.write_text(json.dumps(bench_schema(), indent=1) + "\n")
