"""`redraft doctor`: what works on this machine, and why the rest does not."""

from __future__ import annotations

import typer

from redraft.cli.options import JsonFlag
from redraft.cli.output import print_fields, print_json, print_table


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("doctor")(doctor)


def doctor(json_: JsonFlag = False) -> None:
    """Say what works on this machine, and why the rest does not.

    Lists the backends, the optional parts, packaged models and the machine. Exits with 1 where no backend
    works.
    """
    from redraft.cli.machine import describe_machine, optional_parts, packaged_models
    from redraft.engines import available_backends

    backends = available_backends()
    parts, models = optional_parts(), packaged_models()
    if json_:
        print_json(
            {
                "machine": describe_machine(),
                "backends": {
                    name: {
                        "ok": found.ok,
                        "version": found.version,
                        "reason": found.reason,
                        "hint": found.hint,
                    }
                    for name, found in backends.items()
                },
                "parts": parts,
                "models": models,
            }
        )
    else:
        print_fields(describe_machine())
        print()
        rows = [
            [name, "works" if found.ok else "no", found.version, "" if found.ok else found.reason]
            for name, found in backends.items()
        ]
        print_table(["backend", "here", "version", "why not"], rows)
        print()
        rows = [[name, "yes" if part["ok"] else "no", part["hint"] or ""] for name, part in parts.items()]
        print_table(["part", "here", "to get it"], rows)
        print()
        rows = [
            [f"package:{name}", "yes" if model["ok"] else "no", model["hint"] or ""]
            for name, model in models.items()
        ]
        print_table(["packaged model", "here", "to get it"], rows)
    if not any(found.ok for found in backends.values()):
        raise typer.Exit(1)
