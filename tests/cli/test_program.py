"""Exit codes, errors in words, and what goes to which stream."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import pytest
from tests.cli.conftest import Program

from redraft._core.errors import RedraftError
from redraft.cli.program import main


@pytest.mark.parametrize(
    ("arguments", "code", "phrase"),
    [
        (["nosuchverb"], 2, "No such command"),
        (["generate", "b", "p", "--no-such-flag"], 2, "No such option"),
        (["generate", "b"], 2, "Missing argument"),
        (["generate", "b", ""], 2, "the prompt is empty"),
        (["generate", "b", "p", "--top-p", "0"], 2, "top_p must lie in (0, 1]"),
        (["generate", "b", "p", "--temperature", "-1"], 2, "temperature must be 0"),
        (["generate", "b", "p", "--speculative-config", "{"], 2, "expected a JSON object"),
        (["generate", "b", "p", "--speculative-config", "[1]"], 2, "expected a JSON object"),
        (["generate", "nobundle", "p"], 1, "is not a folder, so it is not a bundle"),
        (["verify", "nobundle"], 1, "it is not a bundle"),
        (["bench", "nobundle"], 1, "it is not a bundle"),
        (["demo", "nobundle"], 1, "it is not a bundle"),
        (["inspect", "/no/such/thing"], 1, "there is no file or folder"),
        (["compile", "nosuch.toml"], 1, "does not exist"),
        (["build", "nosuch"], 1, "neither a bundle nor the folder of a graph"),
        (["build", "nosuch", "--backend", "ort-cpuu"], 2, "did you mean 'ort-cpu'"),
        (["build", "nosuch", "--backend", "tensorrt"], 1, "backend 'tensorrt'"),
        (["export", "nosuch.gguf", "out"], 1, "nosuch.gguf"),
        (["export", "x", "out", "--prior", "p"], 2, "a drafter needs --map"),
        (["export", "x", "out", "--map", "m", "--variant", "v"], 2, "--variant"),
        (["export", "x", "out", "--map", "m", "--drop-layers", "a"], 2, "expected layer numbers"),
        (["export", "x", "out", "--precision", "fp33"], 2, "expected one of fp32"),
        (["cache", "prune"], 2, "--max-size or --unused-days"),
        (["cache", "prune", "--max-size", "ten"], 2, "expected a size"),
        (["vocab", "build", "m"], 2, "exactly one of --corpus, --list and --generate"),
        (["vocab", "inspect", "nosuch.safetensors"], 1, "nosuch.safetensors"),
        (["prior", "inspect", "nosuch.safetensors"], 1, "nosuch.safetensors"),
    ],
)
def test_a_wrong_call_ends_with_its_code_and_says_why(
    arguments: list[str],
    code: int,
    phrase: str,
    program: Program,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    finished = program(*arguments)
    assert finished.code == code
    assert phrase in finished.err
    assert finished.out == ""
    assert "Traceback" not in finished.err
    assert list(tmp_path.iterdir()) == []


def test_an_error_has_a_hint_on_a_line_of_its_own(program: Program) -> None:
    lines = program("inspect", "/no/such/thing").err.splitlines()
    assert lines[0].startswith("error: ")
    assert lines[1].startswith("hint: ")


@pytest.mark.parametrize(
    "arguments", [["--debug", "inspect", "/no/such"], ["inspect", "/no/such", "--debug"]]
)
def test_debug_shows_the_error_itself_wherever_it_stands(arguments: list[str]) -> None:
    with pytest.raises(RedraftError):
        main(arguments)


def test_an_interruption_ends_with_130(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("redraft.cli.inspection.describe", interrupted)
    assert program("inspect", "x").code == 130


def test_a_fault_of_ours_is_one_sentence_without_debug(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(name: str) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("redraft.cli.inspection.describe", faulty)
    finished = program("inspect", "x")
    assert finished.code == 1
    assert "unexpected ZeroDivisionError: oops" in finished.err
    assert "--debug" in finished.err


def test_the_program_is_there_as_a_module_and_helps_quickly() -> None:
    best = 10.0
    for _ in range(3):
        start = perf_counter()
        run = subprocess.run(
            [sys.executable, "-m", "redraft", "--help"], capture_output=True, text=True, check=True
        )
        best = min(best, perf_counter() - start)
    assert run.stdout.startswith("Usage: redraft")
    assert best < 1.5, "half a second on a quiet machine; a heavy import would take longer than this"


def test_doctor_says_that_the_default_backend_works(program: Program) -> None:
    finished = program("doctor", "--json")
    document = json.loads(finished.out)
    assert finished.code == 0
    assert document["backends"]["ort-cpu"]["ok"]
    refused = document["backends"]["tensorrt"]
    assert refused["ok"] or refused["reason"]


def test_the_engine_cache_is_listed_and_cleared(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    engine = tmp_path / "redraft" / "engines" / "ort-cpu" / "0123456789"
    engine.mkdir(parents=True)
    (engine / "build.json").write_text("{}")
    (listed,) = json.loads(program("cache", "list", "--json").out)["engines"]
    assert listed["key"] == "0123456789"
    assert len(json.loads(program("cache", "clear", "--json").out)["removed"]) == 1
    assert json.loads(program("cache", "list", "--json").out)["engines"] == []
