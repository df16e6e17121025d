"""What the program prints: results on stdout, everything else on stderr; progress bars on a terminal only."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol


class Advance(Protocol):
    """Reports that `done` of `total` units are finished."""

    def __call__(self, done: int, total: int) -> None: ...


def print_json(document: Any) -> None:
    """Write one JSON document to stdout. Non-finite numbers are refused: JSON has none."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def note(text: str) -> None:
    """A line for the person who waits, on stderr."""
    print(text, file=sys.stderr, flush=True)


def print_fields(fields: Mapping[str, Any], *, indent: int = 0) -> None:
    """`name  value` lines on stdout, names padded to one width; nested mappings indented."""
    width = max((len(name) for name in fields), default=0)
    for name, value in fields.items():
        if isinstance(value, Mapping):
            print(" " * indent + name)
            print_fields(value, indent=indent + 2)
        else:
            print(f"{' ' * indent}{name:<{width}}  {_text(value)}")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """An aligned table on stdout; numbers stand right."""
    cells = [[_text(value) for value in row] for row in rows]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(columns)]
    right = [bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    for line in [list(columns), *cells]:
        padded = [
            text.rjust(w) if r else text.ljust(w) for text, w, r in zip(line, widths, right, strict=True)
        ]
        print("  ".join(padded).rstrip())


@contextmanager
def progress(label: str) -> Iterator[Advance]:
    """A progress bar on stderr where it is a terminal, silence elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def size_text(num_bytes: int) -> str:
    """Bytes in the unit that reads best, e.g. `98.4 MB`."""
    value = float(num_bytes)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.2f} GB"


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.1f}"
    if isinstance(value, list | tuple):
        return ", ".join(_text(item) for item in value) or "-"
    return str(value)
