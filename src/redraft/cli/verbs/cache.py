"""`redraft cache`: the engines that `redraft build` keeps for graphs outside of bundles."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redraft._core.errors import UsageError
from redraft.cli.options import JsonFlag
from redraft.cli.output import print_json, print_table, size_text

if TYPE_CHECKING:
    from redraft.engines.cache import CachedEngine

app = typer.Typer(name="cache", help="List, prune or clear the engine cache.", no_args_is_help=True)


@app.command("list")
def list_engines(json_: JsonFlag = False) -> None:
    """List the cached engines, the one unused for longest first."""
    from redraft.engines.cache import default_store

    store = default_store()
    entries = store.entries()
    if json_:
        print_json({"folder": str(store.root), "engines": [_facts(entry) for entry in entries]})
        return
    print(f"{store.root}: {len(entries)} engines, {size_text(sum(entry.num_bytes for entry in entries))}")
    if entries:
        rows = [[entry.backend, entry.key, size_text(entry.num_bytes), _ago(entry.used)] for entry in entries]
        print_table(["backend", "key", "size", "last used"], rows)


@app.command("prune")
def prune(
    max_size: Annotated[
        str | None,
        typer.Option("--max-size", help="Keep at most this much, e.g. 10GB; the longest unused go first."),
    ] = None,
    unused_days: Annotated[
        float | None, typer.Option("--unused-days", min=0, help="Remove what was not used for so many days.")
    ] = None,
    json_: JsonFlag = False,
) -> None:
    """Remove engines by size or by age."""
    from redraft.engines.cache import default_store

    if max_size is None and unused_days is None:
        raise UsageError(
            "cache prune needs --max-size or --unused-days", hint="`redraft cache clear` removes all"
        )
    limit = None if max_size is None else parse_size(max_size)
    _report(default_store().prune(max_bytes=limit, unused_days=unused_days), json_)


@app.command("clear")
def clear(json_: JsonFlag = False) -> None:
    """Remove every cached engine. Bundles keep theirs."""
    from redraft.engines.cache import default_store

    _report(default_store().clear(), json_)


def parse_size(text: str) -> int:
    """Bytes of `500MB`, `10GB`, `2GiB` or a plain number; UsageError for anything else."""
    units = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
    stripped = text.strip().upper()
    number = stripped.rstrip("BKMGI ")
    unit = stripped[len(number) :].strip()
    try:
        value = float(number) * units[unit]
    except (ValueError, KeyError):
        raise UsageError(f"expected a size such as 500MB or 10GB, got '{text}'") from None
    if not 0 <= value < 2**63:
        raise UsageError(f"expected a size such as 500MB or 10GB, got '{text}'")
    return int(value)


def _report(removed: list[CachedEngine], as_json: bool) -> None:
    if as_json:
        print_json({"removed": [_facts(entry) for entry in removed]})
    else:
        print(f"removed {len(removed)} engines, {size_text(sum(entry.num_bytes for entry in removed))}")


def _facts(entry: CachedEngine) -> dict[str, Any]:
    return {
        "backend": entry.backend,
        "key": entry.key,
        "path": str(entry.path),
        "bytes": entry.num_bytes,
        "last_used": entry.used,
    }


def _ago(moment: float) -> str:
    days = (time.time() - moment) / 86400
    return "today" if days < 1 else f"{days:.0f} days ago"
