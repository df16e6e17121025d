"""LLMOptions: how a bundle is loaded, from the caller, `speculative_config` and the bundle's recipe."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redraft._core.errors import InputFileError, MismatchError, UsageError

from .decoding.decoder import POLICIES
from .keywords import check_keywords

_CONFIG_KEYS = ("method", "model", "num_speculative_tokens", "policy")
_METHODS = ("draft_model", "self", "model", "none")
MAX_THREADS = 1024
"""More are a slip of the keyboard, and starting them takes a machine down."""
DEFAULT_CONTEXT = 2048
DEFAULT_NUM_SPECULATIVE_TOKENS = 4


@dataclass(frozen=True, slots=True)
class LLMOptions:
    """Resolved options. None: the backend's or the engine's own choice."""

    context: int
    cache_capacity: int | None
    threads: int | None
    num_speculative_tokens: int
    draft_policy: str
    speculative: bool


def resolve_options(
    defaults: Mapping[str, Any],
    *,
    drafter: tuple[str, str] | None,
    context: int | None,
    cache_capacity: int | None,
    threads: int | None,
    num_speculative_tokens: int | None,
    draft_policy: str | None,
    speculative: bool,
    speculative_config: Mapping[str, Any] | None,
) -> LLMOptions:
    """The caller's options over the bundle's `defaults`.

    `drafter`: kind and source of the bundle's drafter, None where it has none. UsageError for a value out
    of range or given twice; MismatchError where the config asks for another drafter than the bundle's.
    """
    config = dict(speculative_config or {})
    check_keywords(config, _CONFIG_KEYS, owner="speculative_config", error=UsageError)
    drafts = _either("num_speculative_tokens", num_speculative_tokens, config.get("num_speculative_tokens"))
    policy = _either("draft_policy", draft_policy, config.get("policy"))
    _check_method(config, drafter)
    if drafts is None:
        drafts = defaults.get("num_speculative_tokens", DEFAULT_NUM_SPECULATIVE_TOKENS)
    policy = policy or defaults.get("draft_policy", "fixed")
    if not isinstance(drafts, int) or isinstance(drafts, bool) or drafts < 0:
        raise UsageError(f"num_speculative_tokens: expected an integer of at least 0, got {drafts!r}")
    if policy not in POLICIES:
        raise UsageError(f"draft_policy: expected one of {', '.join(POLICIES)}, got '{policy}'")
    threads = threads or defaults.get("threads") or None
    if threads is not None and not 1 <= threads <= MAX_THREADS:
        raise UsageError(f"threads: expected 1 to {MAX_THREADS}, got {threads}")
    return LLMOptions(
        context=context or defaults.get("context") or DEFAULT_CONTEXT,
        cache_capacity=cache_capacity or defaults.get("cache_capacity") or None,
        threads=threads,
        num_speculative_tokens=drafts,
        draft_policy=policy,
        speculative=speculative and drafts > 0 and drafter is not None and config.get("method") != "none",
    )


def bundle_defaults(folder: Path) -> dict[str, Any]:
    """The `[runtime]` table of the bundle's recipe; empty without a recipe."""
    path = folder / "recipe.toml"
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("runtime", {})
    except ValueError as error:
        raise InputFileError(f"{path} is damaged: {error}", hint="compile the bundle again") from None
    if not isinstance(table, dict):
        raise InputFileError(f"{path} is damaged: 'runtime' is no table", hint="compile the bundle again")
    return table


def _either(name: str, option: Any, configured: Any) -> Any:
    if option is not None and configured is not None and option != configured:
        raise UsageError(
            f"{name} is {option!r} as an option and {configured!r} in speculative_config: give one"
        )
    return configured if option is None else option


def _check_method(config: Mapping[str, Any], drafter: tuple[str, str] | None) -> None:
    method, model = config.get("method"), config.get("model")
    if method is not None and method not in _METHODS:
        raise UsageError(f"speculative_config: method must be one of {', '.join(_METHODS)}, got '{method}'")
    if method == "none" or (method is None and model is None):
        return
    if drafter is None:
        raise MismatchError(
            "speculative_config asks for a drafter, the bundle has none", hint="compile one with a [drafter]"
        )
    kind, source = drafter
    if method in ("self", "model") and method != kind:
        raise MismatchError(
            f"speculative_config asks for method '{method}', the bundle's drafter is '{kind}'"
        )
    if model is not None and model != source:
        raise MismatchError(
            f"speculative_config asks for the drafter '{model}', the bundle's is made from '{source}'",
            hint="a drafter is compiled into its bundle: leave out `model`, or compile another bundle",
        )
