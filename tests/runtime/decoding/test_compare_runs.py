"""Comparing outputs."""

from __future__ import annotations

import numpy as np
from tests.support.fake_engines import FakeEngine

from redraft.runtime.decoding import Decoder, compare_runs

ROWS = 6


def near_tie_at(length: int) -> Decoder:
    def logits_of(context: tuple[int, ...]) -> np.ndarray:
        row = np.zeros(ROWS, np.float32)
        row[3] = 2.0
        row[4] = 1.9995 if len(context) == length else 1.0
        row[5] = 50.0  # a padding row
        return row

    return Decoder(FakeEngine(logits_of, ROWS), num_tokens=5)


def test_equal_outputs_do_not_diverge() -> None:
    assert compare_runs(near_tie_at(4), [1, 2], [3, 3], [3, 3]) is None


def test_the_first_difference_is_reported_with_the_targets_margin() -> None:
    found = compare_runs(near_tie_at(4), [1, 2], [3, 3, 3, 3], [3, 3, 4, 0])
    assert found is not None
    assert (found.position, found.token_ids, found.top_ids) == (2, (3, 4), (3, 4))
    assert abs(found.margin - 0.0005) < 1e-6
    assert found.is_near_tie


def test_a_difference_away_from_a_tie_or_to_a_third_token_is_no_near_tie() -> None:
    clear = compare_runs(near_tie_at(9), [1, 2], [3, 3], [3, 4])
    third = compare_runs(near_tie_at(3), [1, 2], [3, 3], [3, 0])
    assert clear is not None
    assert third is not None
    assert not clear.is_near_tie
    assert not third.is_near_tie


def test_an_output_that_ended_earlier_diverges_at_its_end() -> None:
    found = compare_runs(near_tie_at(9), [1, 2], [3], [3, 3])
    assert found is not None
    assert (found.position, found.token_ids) == (1, (None, 3))
    assert not found.is_near_tie
