"""ConfigFields: a model's settings, where a field that nobody asked for is refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from redraft._core.errors import InputFileError, UnsupportedError


class ConfigFields:
    """The fields of one config, read by name and type.

    Reading marks a field as understood; `finish` refuses what is left, because a field that is unknown here
    may change the computation. `where` names the config in messages, for example `config.json`.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values = values
        self.where = where
        self._seen: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def get(self, name: str) -> Any:
        """The value, None where it is absent or null."""
        self._seen.add(name)
        return self._values.get(name)

    def is_null(self, name: str) -> bool:
        """True where the field is written as null (not merely absent)."""
        return name in self._values and self._values[name] is None

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer above zero; InputFileError where it is missing without a default or of another kind."""
        value = self._required(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise self._malformed(name, "an integer above 0", value)
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number."""
        value = self._required(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
            raise self._malformed(name, "a finite number", value)
        return float(value)

    def optional_number(self, name: str) -> float | None:
        """A finite number, or None where the field is absent or null."""
        return None if self.get(name) is None else self.number(name)

    def boolean(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self._required(name, default)
        if not isinstance(value, bool):
            raise self._malformed(name, "true or false", value)
        return value

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        """A JSON object, or None where the field is absent or null."""
        value = self.get(name)
        if value is not None and not isinstance(value, Mapping):
            raise self._malformed(name, "an object", value)
        return value

    def require(self, name: str, supported: tuple[Any, ...]) -> None:
        """Refuse the field unless it is absent, null or one of the supported values."""
        value = self.get(name)
        if value is not None and value not in supported:
            values = ", ".join(repr(item) for item in supported)
            raise UnsupportedError(
                f"{self.where}: '{name}' = {_short(value)} is not supported (supported: {values})"
            )

    def ignore(self, names: Iterable[str]) -> None:
        """Fields that are known not to change the logits."""
        self._seen.update(names)

    def finish(self) -> None:
        """UnsupportedError naming the fields that were not read."""
        unknown = sorted(name for name in self._values if name not in self._seen)
        if unknown:
            listed = ", ".join(f"'{name}' = {_short(self._values[name])}" for name in unknown)
            raise UnsupportedError(
                f"{self.where}: unknown {'field' if len(unknown) == 1 else 'fields'} {listed}",
                hint="an unknown field may change the computation; docs/model-families.md says how to add it",
            )

    def _required(self, name: str, default: Any) -> Any:
        value = self.get(name)
        value = default if value is None else value
        if value is None:
            raise InputFileError(f"{self.where}: the field '{name}' is missing")
        return value

    def _malformed(self, name: str, expected: str, value: Any) -> InputFileError:
        return InputFileError(f"{self.where}: '{name}': expected {expected}, got {_short(value)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
