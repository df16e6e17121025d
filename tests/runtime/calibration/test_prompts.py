"""The built-in prompts and a user's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft._core.errors import InputFileError
from redraft.runtime.calibration import CalibrationPrompt, built_in_prompts, read_prompts


def test_the_built_in_prompts_are_many_different_and_cover_many_topics() -> None:
    prompts = built_in_prompts()
    assert len(prompts) >= 200
    assert len({prompt.text for prompt in prompts}) == len(prompts)
    topics = {prompt.topic for prompt in prompts}
    assert topics >= {
        "code",
        "dialogue",
        "science",
        "letters",
        "lists",
        "french",
        "chinese",
        "arabic",
        "plain",
    }
    assert all(prompt.topic and 3 <= len(prompt.text) < 300 for prompt in prompts)


def test_a_prompt_file_holds_one_prompt_a_line_and_may_name_topics(tmp_path: Path) -> None:
    path = tmp_path / "prompts.txt"
    path.write_text("Hello there\n\nlaw\tWhat is a contract?\n", encoding="utf-8")
    assert read_prompts(path) == (
        CalibrationPrompt("user", "Hello there"),
        CalibrationPrompt("law", "What is a contract?"),
    )


@pytest.mark.parametrize(
    ("content", "phrase"),
    [(b"\n \n", "holds no prompt"), (b"\xff\xfe\x00", "no UTF-8"), (None, "could not read")],
)
def test_bad_prompt_files_are_refused(tmp_path: Path, content: bytes | None, phrase: str) -> None:
    path = tmp_path / "prompts.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputFileError, match=phrase):
        read_prompts(path)
