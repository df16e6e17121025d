"""The step that lets the target write calibration text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redraft._core.atomic import atomic_file
from redraft._core.digest import digest_json
from redraft._core.errors import InputFileError
from redraft.cli.output import progress
from redraft.engines import LoadOptions, get_backend

from .engine_steps import calibration_backend
from .graph_steps import TOKENIZER
from .identity import file_identity
from .journal import remove
from .work import Work

if TYPE_CHECKING:
    from redraft.runtime.calibration import CalibrationText

TEXT_FILE = "calibration/text.json"
_UNFINISHED = ".calibration"


def write_text(
    work: Work, tokenizer: dict[str, Any], target: dict[str, Any], engines: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Write `calibration/text.json`; facts: tokens, topics and digest.

    `engines`: backend -> facts of the target's engine. An interrupted run keeps its finished chunks.
    """
    recipe = work.recipe.calibration
    backend = calibration_backend(work)

    def run() -> dict[str, Any]:
        from redraft.runtime.calibration import generate_text, read_prompts
        from redraft.runtime.text import TextTokenizer

        prompts = None if recipe.prompts is None else read_prompts(recipe.prompts)
        text_tokenizer = TextTokenizer.read(work.folder / TOKENIZER)
        folder = work.folder / engines[backend]["folder"]
        with get_backend(backend).load(folder, load_options(work)) as engine, progress("tokens") as advance:
            text = generate_text(
                engine,
                text_tokenizer,
                prompts,
                num_tokens=recipe.tokens,
                tokens_per_prompt=recipe.tokens_per_prompt,
                temperature=recipe.temperature,
                seed=recipe.seed,
                store=work.folder / _UNFINISHED,
                identity=digest_json([target["digest"], tokenizer["files_digest"]]),
                progress=advance,
            )
        save_text(text, work.folder / TEXT_FILE)
        remove(work.folder / _UNFINISHED)
        return {"tokens": text.num_tokens, "topics": text.tokens_by_topic(), "digest": text.digest}

    inputs = {
        "target": target["digest"],
        "tokenizer": tokenizer["files_digest"],
        "prompts": file_identity(recipe.prompts),
        "tokens": recipe.tokens,
        "tokens_per_prompt": recipe.tokens_per_prompt,
        "temperature": recipe.temperature,
        "seed": recipe.seed,
    }
    title = f"calibration text, {recipe.tokens} tokens written by the target"
    return work.step("text", title, inputs=inputs, layer="runtime", outputs=[TEXT_FILE], run=run)


def load_options(work: Work) -> LoadOptions:
    """How the steps load engines: with the recipe's threads."""
    return LoadOptions(threads=work.recipe.runtime.threads or None)


def save_text(text: CalibrationText, path: Path) -> None:
    """Write the sequences as JSON, whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps([item.to_json() for item in text.sequences]), encoding="utf-8")


def load_text(path: Path) -> CalibrationText:
    """The text that `save_text` wrote; InputFileError where it is damaged."""
    from redraft.runtime.calibration import CalibrationText, TextSequence

    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return CalibrationText(tuple(TextSequence.from_json(item) for item in values))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputFileError(f"{path} is damaged: {error}", hint="remove it and compile again") from None
