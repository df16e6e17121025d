"""Chat templates: what Hugging Face's renderer offers, in a sandbox."""

from __future__ import annotations

import re
from typing import Any

import pytest

from redraft._core.errors import RedraftError, RequestError, UnsupportedError
from redraft.runtime.text import render_chat

USER = [{"role": "user", "content": "Hi <b>"}]


def render(template: str | None, messages: Any = USER, **options: Any) -> str:
    return render_chat(template, messages, special_tokens={"bos_token": "<s>"}, **options)


def test_messages_special_tokens_and_the_generation_prompt_are_given() -> None:
    template = (
        "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m['content'] }}{% endfor %}"
        "{% if add_generation_prompt %}>{% endif %}"
    )
    assert render(template) == "<s>[user]Hi <b>>"
    assert render(template, add_generation_prompt=False) == "<s>[user]Hi <b>"


def test_variables_reach_the_template_and_absent_ones_are_undefined() -> None:
    template = "{{ tools is none }}{{ enable_thinking is defined }}"
    assert render(template) == "TrueFalse"
    assert render(template, tools=[], enable_thinking=False) == "FalseTrue"


def test_blocks_are_trimmed_as_hugging_face_does() -> None:
    assert render("{% if true %}\n  {% if true %}\na\n  {% endif %}\n{% endif %}\nb") == "a\nb"


def test_tojson_neither_escapes_html_nor_unicode() -> None:
    assert render("{{ messages | tojson }}", [{"role": "user", "content": "<é>"}]) == (
        '[{"role": "user", "content": "<é>"}]'
    )
    assert render("{{ {'b': 1, 'a': 2} | tojson(indent=1) }}") == '{\n "b": 1,\n "a": 2\n}'


def test_loop_controls_and_the_generation_block_work() -> None:
    template = (
        "{% for i in range(5) %}{% if i == 2 %}{% break %}{% endif %}"
        "{% generation %}{{ i }}{% endgeneration %}{% endfor %}"
    )
    assert render(template) == "01"


def test_strftime_now_gives_a_date() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", render("{{ strftime_now('%Y-%m-%d') }}"))


@pytest.mark.parametrize(
    ("template", "messages", "error", "phrase"),
    [
        (None, USER, UnsupportedError, "has no chat template"),
        ("{{ raise_exception('roles must alternate') }}", USER, RequestError, "roles must alternate"),
        ("{{ messages[0]['content'] + 1 }}", USER, RequestError, "refuses these messages"),
        ("{% if %}", USER, UnsupportedError, "cannot be compiled"),
        ("x", [], RequestError, "at least one message"),
        ("x", [{"content": "Hi"}], RequestError, r"messages\[0\]: expected"),
        ("x", ["Hi"], RequestError, r"messages\[0\]: expected"),
        ("{{ ''.__class__.__mro__ }}", USER, RequestError, "refuses"),
        ("{{ messages.append(1) }}", USER, RequestError, "refuses"),
    ],
)
def test_bad_templates_and_messages_are_refused(
    template: str | None, messages: Any, error: type[RedraftError], phrase: str
) -> None:
    with pytest.raises(error, match=phrase):
        render(template, messages)
