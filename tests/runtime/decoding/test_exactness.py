"""The production loop's output law is the target's, in every cell, by exact enumeration."""

from __future__ import annotations

import pytest
from tests.support.draft_tables import DRAFT_TABLES
from tests.support.enumeration import distance, output_law, plain_law
from tests.support.enumeration_cells import (
    NUM_ROWS,
    PROMPT,
    WARPS,
    enumeration_depth,
    narrowed_table,
    target_table,
)
from tests.support.fake_engines import FakeEngine, LogitsOf, random_table

from redraft.runtime.decoding import ConfidenceThreshold, Decoder, GenerationRequest, WarpParams

EXACT = 1e-12


def decoder_of(draft: LogitsOf, num_drafts: int, **options: object) -> Decoder:
    return Decoder(
        FakeEngine(target_table(), NUM_ROWS),
        FakeEngine(draft, NUM_ROWS, drafter=True),
        num_speculative_tokens=num_drafts,
        context=24,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("num_drafts", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("warp_name", WARPS)
@pytest.mark.parametrize("kind", DRAFT_TABLES)
def test_output_law_is_the_targets(kind: str, warp_name: str, num_drafts: int) -> None:
    length, narrow_from = enumeration_depth(num_drafts)
    decoder = decoder_of(narrowed_table(DRAFT_TABLES[kind](), narrow_from), num_drafts)
    request = GenerationRequest(PROMPT, WARPS[warp_name], max_tokens=max(length, num_drafts + 1))
    expected = plain_law(target_table(), request, length)
    assert distance(output_law(decoder, request, length), expected) < EXACT


@pytest.mark.parametrize("warp_name", WARPS)
def test_plain_loop_has_the_targets_law(warp_name: str) -> None:
    request = GenerationRequest(PROMPT, WARPS[warp_name], max_tokens=3)
    decoder = Decoder(FakeEngine(target_table(), NUM_ROWS), context=24)
    assert distance(output_law(decoder, request, 3), plain_law(target_table(), request, 3)) < EXACT


@pytest.mark.parametrize("warp_name", ["temperature", "top-k+min-p"])
def test_stop_tokens_inside_drafts_keep_the_law(warp_name: str) -> None:
    request = GenerationRequest(PROMPT, WARPS[warp_name], max_tokens=3, stop_ids=frozenset({2}))
    decoder = decoder_of(random_table(5, NUM_ROWS), 3)
    law = output_law(decoder, request, 3)
    assert distance(law, plain_law(target_table(), request, 3)) < EXACT
    assert all(2 not in tokens[:-1] for tokens in law)


@pytest.mark.parametrize("warp_name", ["temperature", "top-p", "temperature+top-k"])
@pytest.mark.parametrize("threshold", [0.2, 0.4, 0.9])
def test_stopping_at_an_unsure_draft_keeps_the_law(warp_name: str, threshold: float) -> None:
    request = GenerationRequest(PROMPT, WARPS[warp_name], max_tokens=4)
    decoder = decoder_of(narrowed_table(random_table(6, NUM_ROWS), 1), 3)
    policy = ConfidenceThreshold(3, threshold=threshold, min_samples=2)
    law = output_law(decoder, request, 4, policy=policy)
    assert distance(law, plain_law(target_table(), request, 4)) < EXACT


def test_padding_to_one_width_keeps_the_law() -> None:
    request = GenerationRequest(PROMPT, WarpParams(), max_tokens=3)
    decoder = decoder_of(random_table(7, NUM_ROWS), 2, deterministic=True)
    assert distance(output_law(decoder, request, 3), plain_law(target_table(), request, 3)) < EXACT


def test_padding_rows_of_the_vocabulary_are_never_emitted() -> None:
    request = GenerationRequest(PROMPT[:1], WarpParams(), max_tokens=3)
    decoder = decoder_of(random_table(8, NUM_ROWS), 2, num_tokens=3)
    law = output_law(decoder, request, 3)
    assert distance(law, plain_law(target_table(), request, 3, num_tokens=3)) < EXACT
    assert all(token < 3 for tokens in law for token in tokens)


def test_prefill_in_chunks_of_any_size_keeps_the_law() -> None:
    request = GenerationRequest((1, 3, 0, 2, 2, 1, 3), WarpParams(), max_tokens=2)
    expected = plain_law(target_table(), request, 2)
    for chunk in (1, 2, 3, 6, 7, 50):
        decoder = decoder_of(random_table(9, NUM_ROWS), 1, prefill_chunk=chunk)
        assert distance(output_law(decoder, request, 2), expected) < EXACT
