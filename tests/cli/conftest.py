"""Fixtures of the program's tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from redraft.cli.program import main


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run of the program returned and printed."""

    code: int
    out: str
    err: str


Program = Callable[..., Finished]


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str]) -> Program:
    """Runs `redraft` with these arguments in this process."""

    def run(*arguments: object) -> Finished:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Finished(int(stopped.value.code or 0), printed.out, printed.err)

    return run
