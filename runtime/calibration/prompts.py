"""Prompts that calibration text starts from: the built-in list, or a user's file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from redraft._core.digest import digest_json
from redraft._core.errors import InputFileError

RAW_TOPIC = "plain"
"""Prompts of this topic are continued as they are, without a chat template."""
USER_TOPIC = "user"


@dataclass(frozen=True, slots=True)
class CalibrationPrompt:
    """A prompt and the topic that it stands for."""

    topic: str
    text: str


def built_in_prompts() -> tuple[CalibrationPrompt, ...]:
    """The 252 prompts that ship with redraft: code, dialogue, science, letters, lists, other languages and
    more.
    """
    text = resources.files(__package__).joinpath("prompts.txt").read_text(encoding="utf-8")
    lines = (line.split("\t") for line in text.splitlines())
    return tuple(CalibrationPrompt(topic, prompt) for topic, prompt in lines)


def read_prompts(path: Path) -> tuple[CalibrationPrompt, ...]:
    """One prompt a line of a UTF-8 text file, empty lines left out; `topic<TAB>prompt` names a topic.

    InputFileError where the file is missing, is no UTF-8 text or holds no prompt.
    """
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise InputFileError(f"could not read the prompts {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputFileError(f"the prompts {path} are no UTF-8 text: {error}") from None
    prompts = tuple(_parse(line) for line in lines if line)
    if not prompts:
        raise InputFileError(f"{path} holds no prompt", hint="write one prompt a line")
    return prompts


def prompts_digest(prompts: Sequence[CalibrationPrompt]) -> str:
    """Hex SHA-256 of the prompts and their topics, in order."""
    return digest_json([[prompt.topic, prompt.text] for prompt in prompts])


def _parse(line: str) -> CalibrationPrompt:
    topic, tab, text = line.partition("\t")
    return CalibrationPrompt(topic.strip(), text.strip()) if tab else CalibrationPrompt(USER_TOPIC, line)
