"""What README and docs say is what the program and the package do."""

from __future__ import annotations

import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.support.repository import FOLDERS, ROOT

from redraft.cli.program import app, main

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """(page, text) of every code block in this language."""
    for page in PAGES:
        for found in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            if found[1] == language:
                yield page.name, found[2]


def shell_commands() -> list[list[str]]:
    """Every command of the pages' shell blocks, comments and continuations resolved."""
    commands = []
    for _, text in (*blocks("sh"), *blocks("bash")):
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words:
                commands.append(words)
    return commands


def unknown_words(arguments: list[str]) -> list[str]:
    """Verbs and flags of a redraft command that the program does not have."""
    command: Any = typer.main.get_command(app)
    flags = {flag for parameter in command.params for flag in parameter.opts} | {"-h", "--help"}
    words = list(arguments)
    while words and hasattr(command, "commands"):
        word = words.pop(0)
        if word.startswith("-"):
            if word not in flags:
                return [word]
            continue
        if word not in command.commands:
            return [word]
        command = command.commands[word]
        flags |= {flag for p in command.params for flag in (*p.opts, *p.secondary_opts)}
    return [
        word for word in words if word.startswith("-") and word != "-" and word.split("=")[0] not in flags
    ]


def test_the_pages_have_commands_and_python_to_check() -> None:
    assert len(shell_commands()) > 5
    assert len(list(blocks("python"))) > 0


@pytest.mark.parametrize("words", shell_commands(), ids=" ".join)
def test_a_command_of_the_docs_exists(words: list[str]) -> None:
    name = Path(words[0]).name
    if name == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in words[1:] if "=" not in word} <= set(targets)
    elif name == "redraft":
        assert unknown_words(words[1:]) == []
        recipes = [word for word in words if word.startswith("recipes/")]
        assert all((ROOT / recipe).exists() for recipe in recipes)
    else:
        assert name in {"pip", "git", "python", "cd"}, f"{name} is checked by nothing"


@pytest.mark.parametrize(
    "arguments", [["genrate", "b"], ["generate", "b", "p", "--stat"], ["cache", "lst"], ["--jsn"]]
)
def test_a_command_that_does_not_exist_would_be_found(arguments: list[str]) -> None:
    assert unknown_words(arguments)


def test_the_commands_of_the_readme_run_on_a_bundle(
    tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _bundles(tmp_path, tiny_bundle)
    monkeypatch.chdir(tmp_path)
    ran = 0
    readme = _BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    for language, text in readme:
        for line in text.splitlines() if language == "sh" else ():
            words = shlex.split(line, comments=True)
            if words and words[0].endswith("redraft") and words[1] in ("generate", "inspect", "doctor"):
                with pytest.raises(SystemExit) as stopped:
                    main(words[1:])
                assert stopped.value.code == 0, line
                ran += 1
    assert ran >= 3


@pytest.mark.parametrize(("page", "text"), list(blocks("python")), ids=lambda value: value[:20])
def test_python_of_the_docs_runs(
    page: str, text: str, tiny_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _bundles(tmp_path, tiny_bundle)
    monkeypatch.chdir(tmp_path)
    script = tmp_path / f"{page}.py"
    script.write_text(text, encoding="utf-8")
    runpy.run_path(str(script))


@pytest.mark.parametrize(("page", "text"), list(blocks("toml")), ids=lambda value: value[:20])
def test_toml_of_the_docs_is_a_recipe(page: str, text: str, tmp_path: Path) -> None:
    import tomllib

    from redraft.cli.recipe import recipe_from_table

    table = tomllib.loads(text)
    recipe_from_table({"target": {"checkpoint": "x"}} | table, folder=tmp_path)


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_architecture_page_has_one_sentence_for_every_module() -> None:
    writer = runpy.run_path(str(ROOT / "docs" / "write_architecture.py"))
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert page == writer["page"](), "run `make docs`"
    for folder in (*FOLDERS, "src/redraft/_core", "src/redraft/cli"):
        for path in writer["modules"](ROOT / folder):
            assert writer["summary"](path), f"{path} has no docstring"


def _bundles(folder: Path, bundle: Path) -> None:
    (folder / "bundles").mkdir()
    (folder / "bundles" / "smollm2-135m").symlink_to(bundle)
