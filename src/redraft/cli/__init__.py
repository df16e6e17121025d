"""The program `redraft`: one module a verb. It joins what the layers keep apart."""

from __future__ import annotations

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the program with these arguments (default: the process's) and exit."""
    from .program import main as run

    run(arguments)
