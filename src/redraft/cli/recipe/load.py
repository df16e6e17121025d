"""TOML file -> Recipe: unknown keys are refused with the nearest known one, values are checked by type and
range.
"""

from __future__ import annotations

import tomllib
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from redraft._core.errors import InputFileError, UsageError

from .check import check_recipe
from .schema import Recipe


def load_recipe(path: Path) -> Recipe:
    """The recipe in the TOML file `path`.

    Relative paths in it (checkpoints too) are read from the file's folder.

    Raises:
        InputFileError: the file is missing or no TOML.
        UsageError: a key is unknown, a value has another type or is out of its range.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputFileError(f"recipe {path} does not exist", hint="recipes/ holds ready ones") from None
    except IsADirectoryError:
        raise InputFileError(f"recipe {path} is a folder, expected a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputFileError(f"recipe {path} is no TOML: {error}") from None
    table.setdefault("name", path.stem)
    return recipe_from_table(table, folder=path.resolve().parent)


def recipe_from_table(table: Mapping[str, Any], *, folder: Path) -> Recipe:
    """The recipe of a parsed table; relative paths are taken from `folder`."""
    recipe = _build(Recipe, table, "", folder)
    assert isinstance(recipe, Recipe)
    check_recipe(recipe)
    return recipe


def _build(kind: type[Any], table: Mapping[str, Any], where: str, folder: Path) -> Any:
    hints = get_type_hints(kind)
    for key in table:
        if key not in hints:
            raise UsageError(
                f"recipe: unknown key '{_join(where, key)}'", hint=_nearest(key, list(hints), where)
            )
    values: dict[str, Any] = {}
    for item in fields(kind):
        name = _join(where, item.name)
        if item.name in table:
            values[item.name] = _value(hints[item.name], table[item.name], name, folder)
        elif item.default is MISSING and item.default_factory is MISSING:
            raise UsageError(f"recipe: key '{name}' is missing", hint=_missing_hint(name))
    return kind(**values)


def _value(hint: Any, value: Any, name: str, folder: Path) -> Any:
    if is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise UsageError(f"recipe: '{name}' is a table, got {value!r}", hint=f"write [{name}]")
        return _build(hint, value, name, folder)  # type: ignore[arg-type]
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        if value not in args:
            raise UsageError(f"recipe: '{name}' is one of {', '.join(map(repr, args))}, got {value!r}")
        return value
    if origin in (types.UnionType, Union):
        return _value(next(arg for arg in args if arg is not type(None)), value, name, folder)
    if origin is tuple:
        if not isinstance(value, list):
            raise UsageError(f"recipe: '{name}' is a list, got {value!r}")
        return tuple(_value(args[0], item, name, folder) for item in value)
    return _scalar(hint, value, name, folder)


def _scalar(hint: Any, value: Any, name: str, folder: Path) -> Any:
    words = {str: "a text", int: "a whole number", float: "a number", Path: "a path"}
    if hint is float and type(value) is int:
        return float(value)
    if hint is Path and type(value) is str:
        return folder / Path(value).expanduser()
    if type(value) is not hint:
        raise UsageError(f"recipe: '{name}' is {words[hint]}, got {value!r}")
    return _checkpoint(value, folder) if name.endswith(".checkpoint") else value


def _checkpoint(uri: str, folder: Path) -> str:
    local = folder / uri
    return str(local) if not uri.startswith("package:") and local.exists() else uri


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _nearest(key: str, known: list[str], where: str) -> str:
    close = get_close_matches(key, known, n=1, cutoff=0.4)
    scope = f"[{where}] knows" if where else "a recipe knows"
    return f"did you mean '{_join(where, close[0])}'?" if close else f"{scope} {', '.join(sorted(known))}"


def _missing_hint(name: str) -> str:
    if name in ("target", "target.checkpoint"):
        return 'a recipe needs at least [target] checkpoint = "…"'
    return "add it to the recipe"
