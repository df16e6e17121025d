"""`redraft inspect`: say what something is."""

from __future__ import annotations

from typing import Annotated

import typer

from redraft.cli.options import JsonFlag
from redraft.cli.output import print_fields, print_json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("inspect")(inspect)


def inspect(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A bundle, manifest, graph, engine, tokenizer, recipe, map, prior, or any checkpoint: "
            "folder, .gguf, package:NAME, hub id.",
        ),
    ],
    json_: JsonFlag = False,
) -> None:
    """Say what a file or folder is, and what is in it."""
    from redraft.cli.inspection import describe

    found = describe(path)
    if json_:
        print_json({"type": found.kind, "path": path, **found.facts})
    else:
        print(found.kind)
        print_fields(found.facts, indent=2)
