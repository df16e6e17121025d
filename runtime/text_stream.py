"""TextStream: the deltas of one request as an iterator whose close cancels."""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import TracebackType
from typing import Self

from .request_output import RequestOutput, TextDelta
from .single_use import SingleUse
from .text_generation import TextGeneration


class TextStream:
    """Yields a delta whenever text became certain.

    The request begins with the first `next` and ends with the last delta, or with `close`, which stops it
    after the round that runs; leaving a `with` block or dropping the stream closes it.
    """

    def __init__(self, begin: Callable[[], TextGeneration], use: SingleUse) -> None:
        """`begin` starts the request, once it is its turn to `use` the engines."""
        self.output: RequestOutput | None = None
        """The whole output when the stream has ended; with finish_reason "abort" after an early close."""
        self._deltas = self._run(begin, use)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> TextDelta:
        return next(self._deltas)

    def close(self) -> None:
        """Cancel the request and free the engines for the next one. Idempotent."""
        self._deltas.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, begin: Callable[[], TextGeneration], use: SingleUse) -> Generator[TextDelta]:
        with use:
            generation = begin()
            try:
                while generation.finish_reason is None:
                    delta = generation.step()
                    if delta.output is not None:
                        self.output = delta.output
                    if delta.text or delta.output is not None:
                        yield delta
            finally:
                if self.output is None:
                    self.output = generation.output("abort")
