"""Options that several verbs share, each with one name, one meaning and one help text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

JsonFlag = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout; messages go to stderr.")
]

PrintConfigFlag = Annotated[
    bool, typer.Option("--print-config", help="Print the resolved settings as JSON and stop.")
]

Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, help="CPU threads of an engine. [default: the cores this process may use]"
    ),
]

ContextLength = Annotated[
    int | None,
    typer.Option(
        "--context",
        min=2,
        help="Most tokens of prompt and answer together. [default: the recipe's, 2048 where it says none]",
    ),
]

CacheCapacity = Annotated[
    int | None,
    typer.Option(
        "--cache-capacity",
        min=2,
        help="Slots of the key/value cache. [default: the context and the widest call]",
    ),
]

BackendName = Annotated[
    str | None,
    typer.Option("--backend", help="Backend to run on: `redraft doctor` lists them. [default: ort-cpu]"),
]

BundleArgument = Annotated[
    Path, typer.Argument(metavar="BUNDLE", help="A folder that `redraft compile` wrote.")
]

SpeculativeConfig = Annotated[
    str | None,
    typer.Option(
        "--speculative-config",
        metavar="JSON",
        help='Drafting as JSON: {"method": "draft_model", "num_speculative_tokens": 4, "policy": "fixed"}; '
        '"method": "none" switches it off.',
    ),
]

CheckpointArgument = Annotated[
    str,
    typer.Argument(
        metavar="CHECKPOINT",
        help="A Hugging Face folder, a hub id (org/name[@revision]), a .gguf file, or package:NAME.",
    ),
]
