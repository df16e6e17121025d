"""Stop strings across the borders of pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.runtime.text import StopStrings


def run(stops: list[str], chunks: list[str], *, include: bool = False) -> tuple[list[str], str | None]:
    checker = StopStrings(stops, include=include)
    got = []
    for chunk in chunks:
        got.append(checker.push(chunk))
        if checker.matched is not None:
            break
    else:
        got.append(checker.flush())
    return got, checker.matched


def test_a_stop_string_across_pieces_is_cut_and_nothing_of_it_is_shown_before() -> None:
    assert run(["END"], ["a E", "N", "D b"]) == (["a ", "", ""], "END")


def test_what_could_become_a_stop_string_is_shown_when_it_does_not() -> None:
    assert run(["END"], ["a E", "Nx"]) == (["a ", "ENx", ""], None)


def test_what_was_held_back_is_shown_at_the_end() -> None:
    assert run(["END"], ["a EN"]) == (["a ", "EN"], None)


def test_the_stop_string_is_part_of_the_text_where_asked() -> None:
    assert run(["END"], ["a E", "ND b"], include=True) == (["a ", "END"], "END")


def test_without_stop_strings_everything_passes_at_once() -> None:
    assert run([], ["a", "b"]) == (["a", "b", ""], None)


@pytest.mark.parametrize("text", ["xaab", "xaaab", "xaaaab"])
def test_a_stop_string_that_overlaps_itself_is_found(text: str) -> None:
    got, matched = run(["aab"], list(text))
    assert matched == "aab"
    assert "".join(got) == text[: text.index("aab")]


@given(
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=3),
    st.lists(st.text("abc", max_size=4), max_size=8),
    st.booleans(),
)
def test_the_result_does_not_depend_on_how_the_text_is_split(
    stops: list[str], chunks: list[str], include: bool
) -> None:
    whole = "".join(chunks)
    by_chunk, by_character = run(stops, chunks, include=include), run(stops, list(whole), include=include)
    assert "".join(by_chunk[0]) == "".join(by_character[0])
    assert by_chunk[1] == by_character[1]


@given(
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=3),
    st.lists(st.text("abc", max_size=4), max_size=8),
)
def test_no_stop_string_is_ever_shown(stops: list[str], chunks: list[str]) -> None:
    got, matched = run(stops, chunks)
    text = "".join(got)
    assert not any(stop in text for stop in stops)
    assert (matched is not None) == any(stop in "".join(chunks) for stop in stops)
