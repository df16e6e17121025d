"""Builders of maps: what is always kept, how ties and gaps are filled, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft._core.errors import InputFileError, UsageError
from redraft.rdk.vocabulary import (
    TokenizerInfo,
    VocabMap,
    build_from_ids,
    build_from_scores,
    count_tokens,
    coverage_of_counts,
    covered_mass,
    identity_map,
)

ALWAYS = [0, 1, 2, 30, 31, 39]


def tokenizer(size: int = 40) -> TokenizerInfo:
    return TokenizerInfo(
        size=size,
        digest="5" * 64,
        bos_id=1,
        add_bos=True,
        stop_ids=(2,),
        special_ids=(0, 39),
        byte_ids=(30, 31),
        pad_id=0,
        has_chat_template=True,
    )


def test_special_stop_and_byte_tokens_stay_although_they_were_never_seen() -> None:
    counts = np.zeros(40, dtype=np.int64)
    counts[[7, 9]] = [5, 6]
    build = build_from_scores(counts, tokenizer(), size=8)
    assert build.vocab_map.target_ids.tolist() == sorted([*ALWAYS, 7, 9])
    assert (build.num_always, build.num_scored, build.num_filled) == (6, 2, 0)


def test_higher_scores_come_first_and_ties_go_to_the_lower_id() -> None:
    scores = np.zeros(40)
    scores[[5, 6, 7, 8]] = [0.1, 0.4, 0.1, 0.1]
    build = build_from_scores(scores, tokenizer(), size=8)
    assert build.vocab_map.target_ids.tolist() == sorted([*ALWAYS, 6, 5])


def test_fewer_seen_tokens_than_asked_for_are_filled_by_id_and_it_says_so() -> None:
    counts = np.zeros(40, dtype=np.int64)
    counts[20] = 3
    build = build_from_scores(counts, tokenizer(), size=10)
    assert build.vocab_map.target_ids.tolist() == sorted([*ALWAYS, 20, 3, 4, 5])
    assert "3 by lowest id because no more tokens were seen" in build.note
    full = build_from_scores(np.ones(40), tokenizer(), size=10)
    assert full.num_filled == 0
    assert "lowest id" not in full.note


def test_keep_one_is_the_identity_and_padding_rows_are_never_kept() -> None:
    scores = np.ones(48)
    assert build_from_scores(scores[:40], tokenizer(), keep=1.0).vocab_map.is_identity
    padded = build_from_scores(scores, tokenizer(), keep=1.0).vocab_map
    assert padded.target_ids.tolist() == list(range(40))
    assert (padded.rows, padded.num_tokens) == (48, 40)
    assert identity_map(tokenizer(), 48).digest == padded.digest


def test_ids_beyond_the_rows_are_left_out() -> None:
    build = build_from_scores(np.ones(35), tokenizer(), keep=1.0)
    assert build.vocab_map.is_identity
    assert build.num_always == 5


@pytest.mark.parametrize(
    ("options", "phrase"),
    [
        ({"keep": 0.0}, "above 0 and at most 1, got 0.0"),
        ({"keep": -0.1}, "above 0 and at most 1"),
        ({"keep": 1.01}, "above 0 and at most 1, got 1.01"),
        ({"keep": float("nan")}, "above 0 and at most 1"),
        ({"size": 0}, "must be 1 to 40, got 0"),
        ({"size": -1}, "must be 1 to 40, got -1"),
        ({"size": 41}, "must be 1 to 40, got 41"),
        ({"size": 5}, "cannot hold the 6 special and byte tokens"),
        ({}, "either the fraction"),
        ({"size": 8, "keep": 0.5}, "either the fraction"),
    ],
)
def test_sizes_out_of_range_are_refused(options: dict[str, float], phrase: str) -> None:
    with pytest.raises(UsageError) as error:
        build_from_scores(np.ones(40), tokenizer(), **options)  # type: ignore[arg-type]
    assert phrase in error.value.message


@given(st.lists(st.integers(0, 5), min_size=40, max_size=40), st.integers(6, 40))
def test_every_map_has_the_asked_size_holds_the_kept_tokens_and_no_worse_one(
    scores: list[int], size: int
) -> None:
    build = build_from_scores(np.array(scores), tokenizer(), size=size)
    kept = set(build.vocab_map.target_ids.tolist())
    assert len(kept) == size
    assert set(ALWAYS) <= kept
    chosen, pruned = kept - set(ALWAYS), set(range(40)) - kept
    assert all((-scores[a], a) < (-scores[b], b) for a in chosen for b in pruned)
    assert build.num_always + build.num_scored + build.num_filled == size


def test_a_list_of_ids_in_any_order_keeps_the_always_kept_ones_too() -> None:
    build = build_from_ids(np.array([12, 3, 31]), tokenizer(), rows=48)
    assert build.vocab_map.target_ids.tolist() == sorted({*ALWAYS, 12, 3})
    assert build.vocab_map.num_tokens == 40


@pytest.mark.parametrize(
    ("target_ids", "phrase"), [([3, 3], "id 3 is listed twice"), ([40], "id 40 is outside"), ([-1], "id -1")]
)
def test_a_wrong_list_of_ids_is_refused(target_ids: list[int], phrase: str) -> None:
    with pytest.raises(InputFileError, match=phrase):
        build_from_ids(np.array(target_ids), tokenizer(), rows=48)


def test_counts_add_up_over_streams_and_refuse_foreign_ids() -> None:
    counts = count_tokens([np.array([1, 1, 3]), np.array([], dtype=np.int64), np.array([3])], 5)
    assert counts.tolist() == [0, 2, 0, 2, 0]
    with pytest.raises(InputFileError, match="token id 5 is outside the model's 5 rows"):
        count_tokens([np.array([5])], 5)


def test_coverage_counts_tokens_inside_the_map_and_names_the_missing_ones() -> None:
    vocab_map = VocabMap(np.array([1, 3], np.int32), 6, "5" * 64)
    coverage = coverage_of_counts(vocab_map, np.array([1, 4, 0, 2, 3, 0]))
    assert (coverage.num_tokens, coverage.num_covered, coverage.share) == (10, 6, 0.6)
    assert coverage.missing == ((4, 3), (0, 1))
    assert coverage_of_counts(vocab_map, np.zeros(6, np.int64)).share == 1.0
    rows = np.array([[0.1, 0.4, 0.1, 0.2, 0.2, 0.0]])
    assert covered_mass(vocab_map, rows) == pytest.approx([0.6])
