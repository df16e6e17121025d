"""`python -m redraft` and the `redraft` program."""

from __future__ import annotations

from redraft.cli import main

if __name__ == "__main__":
    main()
