"""The reference page is the program's own help, and every page of it is useful."""

from __future__ import annotations

import pytest
from tests.support.repository import ROOT

from redraft.cli.program import app
from redraft.cli.reference import help_pages, reference_page

PAGES = {" ".join(words): text for words, text in help_pages(app)}
VERBS = ("compile", "generate", "demo", "bench", "verify", "export", "build", "inspect", "doctor")
GROUPS = {
    "vocab": ("build", "import", "inspect"),
    "prior": ("fit", "inspect"),
    "cache": ("list", "prune", "clear"),
}


def test_the_page_in_the_docs_is_what_the_program_says() -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert page == reference_page(), "run `make docs`"


def test_every_verb_of_the_conventions_is_there() -> None:
    expected = {"redraft", *(f"redraft {verb}" for verb in VERBS)}
    for group, verbs in GROUPS.items():
        expected |= {f"redraft {group}", *(f"redraft {group} {verb}" for verb in verbs)}
    assert set(PAGES) == expected


@pytest.mark.parametrize("words", sorted(PAGES))
def test_a_help_page_says_how_it_is_called_and_explains_every_option(words: str) -> None:
    text = PAGES[words]
    assert text.startswith(f"Usage: {words}")
    lines = text.splitlines()
    for number, line in enumerate(lines):
        option = line.strip()
        if option.startswith("-") and len(option.split("  ", 1)) == 1:
            following = lines[number + 1].strip() if number + 1 < len(lines) else ""
            assert following, f"{words}: {option} has no help"
            assert not following.startswith("-"), f"{words}: {option} has no help"


@pytest.mark.parametrize("words", sorted(words for words in PAGES if words.count(" ") > 0))
def test_every_reporting_verb_has_json(words: str) -> None:
    if words in {f"redraft {group}" for group in GROUPS}:
        return
    assert "--json" in PAGES[words]


def test_the_help_of_prior_fit_names_every_kind() -> None:
    from redraft.rdk.prior import KINDS

    words = PAGES["redraft prior fit"].replace(",", " ").replace(".", " ").split()
    assert set(KINDS) <= set(words)
