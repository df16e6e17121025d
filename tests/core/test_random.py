"""Counter-based random words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft._core.random import Purpose, philox, uniform, word

WORD32 = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        ((0, 0), (0, 0, 0, 0), 0x6627E8D5),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF,) * 4, 0x408F276D),
        ((0xA4093822, 0x299F31D0), (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), 0xD16CFE09),
    ],
)
def test_words_are_those_of_the_published_known_answers(
    key: tuple[int, int], counter: tuple[int, int, int, int], expected: int
) -> None:
    seed = key[0] | key[1] << 32
    assert int(philox(seed, *counter[:3], [counter[3]])[0]) == expected
    assert word(seed, *counter) == expected


@given(st.integers(0, 2**64 - 1), WORD32, WORD32, st.sampled_from(list(Purpose)), WORD32)
def test_the_scalar_word_equals_the_array_form(
    seed: int, position: int, offset: int, purpose: Purpose, lane: int
) -> None:
    assert word(seed, position, offset, purpose, lane) == int(
        philox(seed, position, offset, purpose, [lane])[0]
    )


def test_uniform_lies_in_the_half_open_interval_and_fills_it() -> None:
    values = [uniform(3, position, 0, Purpose.DRAFT) for position in range(4000)]
    assert 0 <= min(values) < 0.01
    assert 0.99 < max(values) < 1
    assert abs(sum(values) / len(values) - 0.5) < 0.02
