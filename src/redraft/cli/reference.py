"""The reference page of the command line, made from the program: `python -m redraft.cli.reference
docs/cli.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

_WIDTH = 100


def reference_page() -> str:
    """Markdown with the help text of the program and of every verb."""
    from .program import app

    parts = [
        "# Command line",
        "Generated from the program by `make docs`; a test compares this page with it.",
        "Exit codes: 0 ok, 1 a failed check or an error, 2 wrong usage, 130 interrupted. Results go to "
        "stdout, messages to stderr. An error is one sentence, then `hint: …` where something mends it.",
    ]
    for words, text in help_pages(app):
        parts.append(f"## {' '.join(words)}")
        parts.append(f"```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def help_pages(app: typer.Typer) -> Iterator[tuple[list[str], str]]:
    """(words that call it, its help text) for the program, its verbs and their sub-verbs."""
    yield from _pages(typer.main.get_command(app), ["redraft"], None)


def _pages(command: Any, words: list[str], parent: Any) -> Iterator[tuple[list[str], str]]:
    settings = {**command.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    context = command.make_context(words[-1], [], parent=parent, resilient_parsing=True, **settings)
    yield words, command.get_help(context).rstrip()
    for name, child in getattr(command, "commands", {}).items():
        yield from _pages(child, [*words, name], context)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference_page(), encoding="utf-8")
