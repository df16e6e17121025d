"""`redraft verify`: is a bundle what it says it is?"""

from __future__ import annotations

from typing import Annotated

import typer

from redraft.cli.options import BundleArgument, JsonFlag, Threads
from redraft.cli.output import note, print_json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("verify")(verify)


def verify(
    bundle: BundleArgument,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out the digests of all files and the checkpoints.")
    ] = False,
    threads: Threads = None,
    json_: JsonFlag = False,
) -> None:
    """Check a bundle: files, graphs, engines, and that speculation changes nothing.

    Files have the manifest's digests; graphs agree with their checkpoints and engines with their graphs; no
    value is infinite or not a number; greedy text with the drafter equals plain decoding, token for token in
    the deterministic mode and up to near-ties in the default one. Exits with 1 where a check fails; one that
    cannot be made here is reported as skipped, never as passed.
    """
    from redraft.cli.verification import verify as run
    from redraft.engines.bundle import Bundle
    from redraft.engines.verification.check import passed

    checks = run(
        Bundle.open(bundle), thorough=not quick, threads=threads, report=lambda label: note(f"  {label} …")
    )
    ok = passed(checks)
    if json_:
        print_json({"bundle": str(bundle), "ok": ok, "checks": [check.to_json() for check in checks]})
    else:
        marks = {True: "ok     ", False: "FAILED ", None: "skipped"}
        for check in checks:
            print(f"{marks[check.ok]}  {check.name}: {check.sentence}")
    if not ok:
        raise typer.Exit(1)
