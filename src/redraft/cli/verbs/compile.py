"""`redraft compile`: a recipe becomes a bundle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from redraft.cli.options import JsonFlag, PrintConfigFlag
from redraft.cli.output import note, print_json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("compile")(compile_)


def compile_(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A TOML file; recipes/ holds ready ones.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The bundle's folder. [default: bundles/ and the recipe's file name]"
        ),
    ] = None,
    backend: Annotated[
        list[str] | None,
        typer.Option(
            "--backend",
            help="Build for this backend instead of the recipe's (repeatable); `all`: every one that works.",
        ),
    ] = None,
    print_config: PrintConfigFlag = False,
    json_: JsonFlag = False,
) -> None:
    """Compile a recipe into a bundle: graphs, vocabulary map, prior, engines, checks.

    Steps whose inputs have not changed are skipped; an interrupted compilation goes on where it stopped.
    """
    from redraft.cli.recipe import load_recipe

    loaded = load_recipe(recipe)
    if backend:
        loaded = replace(loaded, build=replace(loaded.build, backends=tuple(backend)))
    if print_config:
        print_json(loaded.to_json())
        return
    from redraft.cli.pipeline.compile import compile_recipe

    bundle = output or Path("bundles") / recipe.stem
    note(f"compiling {recipe} into {bundle}")
    if loaded.notice:
        note(f"notice: {loaded.notice}")
    done = compile_recipe(loaded, recipe.read_text(encoding="utf-8"), bundle)
    for name, reason in done.skipped.items():
        note(f"  - {name} skipped: {reason}")
    note(
        f"{bundle} is up to date"
        if done.up_to_date
        else f"{bundle} is ready: redraft generate {bundle} PROMPT"
    )
    if json_:
        print_json(
            {
                "bundle": str(bundle),
                "up_to_date": done.up_to_date,
                "backends": list(done.backends),
                "skipped": done.skipped,
            }
        )
