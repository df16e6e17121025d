"""Chat templates: jinja2 in a sandbox, with the names that Hugging Face templates use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from redraft._core.errors import RequestError, UnsupportedError

if TYPE_CHECKING:
    from jinja2 import Template

Message = Mapping[str, Any]
"""`role` and `content`, as OpenAI's messages."""


def render_chat(
    template: str | None,
    messages: Sequence[Message],
    *,
    special_tokens: Mapping[str, str],
    add_generation_prompt: bool = True,
    **variables: Any,
) -> str:
    """The prompt text of a conversation.

    `special_tokens` maps `bos_token` and the like to their text; `variables` (tools, enable_thinking, …) go
    to the template as they are. RequestError where the messages are malformed or the template refuses them;
    UnsupportedError where the model has no template.
    """
    from jinja2 import TemplateError

    if template is None:
        raise UnsupportedError(
            "this model has no chat template", hint="use generate() with a prompt that is already formatted"
        )
    _check(messages)
    try:
        return _compiled(template).render(
            messages=[dict(message) for message in messages],
            add_generation_prompt=add_generation_prompt,
            **{"tools": None, "documents": None, **special_tokens, **variables},
        )
    except (TemplateError, TypeError) as error:
        raise RequestError(
            f"the model's chat template refuses these messages: {error}", param="messages"
        ) from None


def _check(messages: Sequence[Message]) -> None:
    if not messages:
        raise RequestError("messages: expected at least one message, got none", param="messages")
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise RequestError(
                f"messages[{index}]: expected an object with a 'role' and a 'content'", param="messages"
            )


@lru_cache(maxsize=16)
def _compiled(source: str) -> Template:
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _generation_block()]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    try:
        return environment.from_string(source)
    except TemplateError as error:
        raise UnsupportedError(f"the model's chat template cannot be compiled: {error}") from None


def _generation_block() -> Any:
    """The `{% generation %}` block, which marks text for training: its body is rendered as it stands."""
    from jinja2 import nodes
    from jinja2.ext import Extension

    class GenerationBlock(Extension):
        tags = {"generation"}  # noqa: RUF012 - the base class declares it so

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return nodes.Scope(body, lineno=line)

    return GenerationBlock


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """jinja2's own filter escapes HTML, which a prompt must not hold."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise_exception(message: str) -> None:
    from jinja2 import TemplateError

    raise TemplateError(message)


def _strftime_now(pattern: str) -> str:
    return datetime.now().strftime(pattern)
