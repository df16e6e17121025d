"""`redraft build`: graphs become engines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from redraft._core.errors import InputFileError, UsageError
from redraft.cli.options import JsonFlag
from redraft.cli.output import note, print_fields, print_json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("build")(build)


def build(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A bundle (all its graphs) or the folder of one graph.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", help="Folder of the engine of a single graph. A bundle keeps its own engines."
        ),
    ] = None,
    backend: Annotated[
        list[str] | None,
        typer.Option(
            "--backend",
            help="Backend to build for, may be given several times; `all`: every one that works here.",
        ),
    ] = None,
    max_prefill: Annotated[
        int, typer.Option("--max-prefill", min=1, help="Widest prefill call in tokens.")
    ] = 512,
    max_decode: Annotated[
        int, typer.Option("--max-decode", min=1, help="Widest decode or verify call.")
    ] = 16,
    capacity: Annotated[int, typer.Option("--cache-capacity", min=2, help="Cache slots.")] = 2560,
    json_: JsonFlag = False,
) -> None:
    """Build engines of exported graphs.

    An engine that is there already, for the same graph, backend, version and shapes, is kept.
    """
    from redraft.cli.pipeline.engine_steps import choose_backends
    from redraft.engines.base import Profile

    profile = Profile(max_batch=1, max_prefill=max_prefill, max_decode=max_decode, capacity=capacity)
    chosen, skipped = choose_backends(tuple(backend or ["ort-cpu"]))
    for name, reason in skipped.items():
        note(f"{name}: skipped: {reason}")
    if (source / "manifest.json").is_file():
        built = _build_bundle(source, output, chosen, profile)
    elif (source / "graph.json").is_file():
        built = _build_graph(source, output, chosen, profile)
    else:
        raise InputFileError(
            f"{source} is neither a bundle nor the folder of a graph", hint=f"`redraft inspect {source}`"
        )
    if json_:
        print_json({"engines": built, "skipped": skipped})
    else:
        for entry in built:
            print_fields(entry)


def _build_bundle(
    folder: Path, output: Path | None, backends: tuple[str, ...], profile: Any
) -> list[dict[str, Any]]:
    from redraft.engines import get_backend
    from redraft.engines.bundle import Bundle, install_engine

    if output is not None:
        raise UsageError("--output is for a single graph; a bundle keeps its engines inside")
    bundle = Bundle.open(folder)
    built = []
    roles = ("target",) if bundle.manifest.drafter is None else ("target", "drafter")
    for name in backends:
        for role in roles:
            bundle, entry = install_engine(bundle, role, get_backend(name), profile)  # type: ignore[arg-type]
            built.append(
                {
                    "role": role,
                    "backend": name,
                    "version": entry.backend_version,
                    "folder": str(folder / entry.folder),
                }
            )
    return built


def _build_graph(
    folder: Path, output: Path | None, backends: tuple[str, ...], profile: Any
) -> list[dict[str, Any]]:
    from redraft.engines import get_backend
    from redraft.engines.cache import build_cached, default_store, engine_key, graph_digest

    root = default_store().root if output is None else output
    digest = graph_digest(folder)
    built = []
    for name in backends:
        made = build_cached(
            get_backend(name), folder, profile, root, engine_key(digest, get_backend(name), profile)
        )
        built.append({"backend": name, "version": made.report.backend_version, "folder": str(made.path)})
    return built
