"""The errors that redraft raises on purpose.

Every message is one sentence that says what was expected and what came; `hint` names the command or option
that mends it.
"""

from __future__ import annotations


class RedraftError(Exception):
    """Root of all errors that redraft raises on purpose.

    `exit_code` is what the command line returns for it.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class UsageError(RedraftError):
    """An option or argument is out of its range or contradicts another."""

    exit_code = 2


class InputFileError(RedraftError):
    """A file that was given is missing, truncated, of another format or damaged."""


class UnsupportedError(RedraftError):
    """The input is well formed, but asks for something that redraft refuses by name."""


class MismatchError(RedraftError):
    """Two artefacts do not belong together: another tokenizer, map, body, version or device."""


class UnavailableError(RedraftError):
    """A backend or an optional dependency is not installed, or cannot work on this machine."""


class RequestError(RedraftError):
    """A request cannot be served as asked: prompt too long, empty prompt, parameter out of range."""

    exit_code = 2

    def __init__(self, message: str, *, param: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.param = param
