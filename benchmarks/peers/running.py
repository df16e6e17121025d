"""Running: a contestant's worker process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from types import TracebackType
from typing import Any, Self

from benchmarks.peers.contestants import Contestant


class WorkerError(Exception):
    """A worker ended; the message is the end of what it said."""


class Running:
    """Sends requests to a worker. Leaving the `with` block ends it."""

    def __init__(self, contestant: Contestant, threads: int) -> None:
        """Prepare the files and wait until the worker has loaded them; WorkerError where it cannot."""
        arguments = json.dumps(contestant.prepare())
        self.contestant = contestant
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.peers.worker", contestant.worker, arguments, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._answer()

    def decode(self, prompt_ids: list[int], max_tokens: int) -> dict[str, Any]:
        """`token_ids` and `times`; see `worker`."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"prompt_ids": prompt_ids, "max_tokens": max_tokens}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._errors.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise WorkerError(" ".join(self._errors.read().split())[-300:] or "it ended without a word")
        answer: dict[str, Any] = json.loads(line)
        return answer


def rate(answer: dict[str, Any]) -> float:
    """Tokens per second after the first step, so that the prompt does not count."""
    (first_time, first_count), (last_time, last_count) = answer["times"][0], answer["times"][-1]
    return (last_count - first_count) / max(last_time - first_time, 1e-9)
