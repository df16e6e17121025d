"""The program `redraft`: one module a verb. It joins what the layers keep apart."""

from .program import main

__all__ = ["main"]
