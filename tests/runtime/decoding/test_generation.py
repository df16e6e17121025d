"""The loop round by round: greedy equality, rejections, stops, limits, statistics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fake_engines import (
    UNWRITTEN,
    FakeCache,
    FakeEngine,
    LogitsOf,
    random_table,
    scripted_table,
)

from redraft._core.errors import MismatchError, RedraftError, RequestError, UnsupportedError, UsageError
from redraft._core.random import Purpose
from redraft.rdk.vocabulary.vocab_map import VocabMap
from redraft.runtime.decoding import DecisionKey, Decoder, GenerationRequest, Law, RandomSource, WarpParams

ROWS = 7
PROMPT = (1, 2, 3)
GREEDY = WarpParams(temperature=0)


def decoder_of(target: LogitsOf, draft: LogitsOf | None, num_drafts: int = 4, **options: object) -> Decoder:
    drafter = None if draft is None else FakeEngine(draft, ROWS, drafter=True)
    return Decoder(
        FakeEngine(target, ROWS),
        drafter,
        num_speculative_tokens=num_drafts,
        **{"context": 48, **options},  # type: ignore[arg-type]
    )


def decode(decoder: Decoder, request: GenerationRequest, **options: object) -> list[int]:
    return [token for tokens in decoder.decode(request, **options) for token in tokens]  # type: ignore[arg-type]


def mostly(target: LogitsOf, other: LogitsOf, every: int) -> LogitsOf:
    """Logits of `target`, but of `other` wherever the context's length is a multiple of `every`."""
    return lambda context: other(context) if len(context) % every == 0 else target(context)


@pytest.mark.parametrize("num_drafts", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("every", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("deterministic", [False, True])
def test_greedy_speculative_equals_greedy_plain_token_for_token(
    num_drafts: int, every: int, deterministic: bool
) -> None:
    target = random_table(1, ROWS)
    draft = mostly(target, random_table(2, ROWS), every)
    request = GenerationRequest(PROMPT, GREEDY, max_tokens=30)
    speculative = decoder_of(target, draft, num_drafts, deterministic=deterministic)
    plain = decode(decoder_of(target, None), request)
    assert decode(speculative, request) == plain
    assert decode(speculative, request, speculative=False) == plain


@pytest.mark.parametrize("params", [GREEDY, WarpParams(), WarpParams(top_k=3), WarpParams(top_p=0.8)])
def test_a_drafter_that_equals_its_target_is_always_accepted(params: WarpParams) -> None:
    target = random_table(1, ROWS)
    generation = decoder_of(target, target).generation(GenerationRequest(PROMPT, params, max_tokens=25))
    while generation.finish_reason is None:
        generation.step()
    stats = generation.stats
    assert stats.acceptance_rate == 1.0
    assert stats.rounds == 5
    assert stats.mean_acceptance_length == 5.0
    assert stats.accepted_histogram == [0, 0, 0, 0, 5]


class Accepts:
    """Accepts a given number of drafts in each round; draws the most likely token."""

    def __init__(self, counts: list[int]) -> None:
        self.counts, self.round = counts, -1

    def choose(self, law: Law, key: DecisionKey) -> int:
        ids, probs = law.support()
        return int(ids[probs.argmax()])

    def accept(self, probability: float, key: DecisionKey) -> bool:
        if key.offset == 0:
            self.round += 1
        return key.offset < self.counts[self.round % len(self.counts)]


@pytest.mark.parametrize("rejected_at", [0, 1, 2, 3])
def test_a_rejection_first_in_between_or_last_ends_the_round_there(rejected_at: int) -> None:
    decoder = decoder_of(random_table(1, ROWS), random_table(2, ROWS), 4)
    generation = decoder.generation(GenerationRequest(PROMPT), Accepts([rejected_at]))
    emitted = generation.step()
    assert len(emitted) == rejected_at + 1
    assert decoder.target.length == len(generation.token_ids) - 1


def test_full_acceptance_adds_the_bonus_token_and_the_drafter_ingests_two_tokens_next() -> None:
    decoder = decoder_of(random_table(1, ROWS), random_table(2, ROWS), 3)
    generation = decoder.generation(GenerationRequest(PROMPT), Accepts([3, 0, 0]))
    assert len(generation.step()) == 4
    engine = decoder.drafter.model.engine  # type: ignore[union-attr]
    engine.calls.clear()
    generation.step()
    assert [width for width, _ in engine.calls] == [2, 1, 1]
    engine.calls.clear()
    generation.step()
    assert [width for width, _ in engine.calls] == [1, 1, 1]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(1, 4), st.booleans())
def test_any_sequence_of_acceptances_keeps_both_caches_prefix(
    counts: list[int], num_drafts: int, deterministic: bool
) -> None:
    decoder = decoder_of(
        random_table(1, ROWS), random_table(2, ROWS), num_drafts, deterministic=deterministic
    )
    generation = decoder.generation(GenerationRequest(PROMPT, WarpParams(), max_tokens=40), Accepts(counts))
    while generation.finish_reason is None:
        before = list(generation.token_ids)
        emitted = generation.step()
        assert generation.token_ids == before + emitted
        for model in (decoder.target, decoder.drafter.model):  # type: ignore[union-attr]
            assert isinstance(model.cache, FakeCache)
            kept = model.cache.slots[0, : model.length].tolist()
            assert kept == generation.token_ids[: model.length]
            assert model.length < len(generation.token_ids)
        assert decoder.target.length == len(generation.token_ids) - 1


def test_target_mass_outside_the_map_is_emitted_and_counted() -> None:
    target = scripted_table([4, 5, 4, 5, 4, 5], ROWS, len(PROMPT))
    hot = np.array([0, 1, 2], np.int32)

    def draft(context: tuple[int, ...]) -> np.ndarray:
        row = np.full(ROWS, -1e30, np.float32)
        row[hot] = 1.0
        return row

    decoder = decoder_of(target, draft, 2, vocab_map=VocabMap(hot, ROWS, "0" * 64))
    generation = decoder.generation(GenerationRequest(PROMPT, WarpParams(), max_tokens=6), RandomSource(3))
    while generation.finish_reason is None:
        generation.step()
    assert generation.output_ids == [4, 5, 4, 5, 4, 5]
    assert generation.stats.accepted == 0
    assert generation.stats.mean_target_mass_outside == pytest.approx(1.0, abs=1e-6)
    assert generation.stats.oov_proposed == 0
    assert generation.stats.redistributed_mass == 0.0


def test_drafts_outside_the_map_are_counted_when_proposed_and_when_accepted() -> None:
    target = scripted_table([4, 5, 1, 2], ROWS, len(PROMPT))
    draft = scripted_table([4, 6, 1, 2], ROWS, len(PROMPT))
    decoder = decoder_of(target, draft, 2, vocab_map=VocabMap(np.array([0, 1, 2], np.int32), ROWS, "0" * 64))
    generation = decoder.generation(GenerationRequest(PROMPT, GREEDY, max_tokens=4))
    while generation.finish_reason is None:
        generation.step()
    assert generation.output_ids == [4, 5, 1, 2]
    assert (generation.stats.oov_proposed, generation.stats.oov_accepted) == (2, 1)


def test_a_draft_without_target_probability_is_never_emitted() -> None:
    def target(context: tuple[int, ...]) -> np.ndarray:
        return np.array([0, 0, -1e30, 0, 0, 0, 0], np.float32)

    def draft(context: tuple[int, ...]) -> np.ndarray:
        return np.array([0, 0, 9, 0, 0, 0, 0], np.float32)

    request = GenerationRequest(PROMPT, WarpParams(), max_tokens=40)
    for seed in range(5):
        assert 2 not in decode(decoder_of(target, draft), request, source=RandomSource(seed))


@pytest.mark.parametrize("num_drafts", [0, 1, 2, 3, 4, 5])
def test_a_stop_token_inside_a_draft_ends_the_text_there(num_drafts: int) -> None:
    target = scripted_table([4, 5, 6, 4, 5, 6], ROWS, len(PROMPT))
    decoder = decoder_of(target, target, num_drafts)
    generation = decoder.generation(GenerationRequest(PROMPT, GREEDY, stop_ids=frozenset({6})))
    while generation.finish_reason is None:
        generation.step()
    assert generation.output_ids == [4, 5, 6]
    assert generation.finish_reason == "stop"
    assert generation.stats.emitted == 3


def test_drafting_ends_at_a_drafted_stop_token() -> None:
    target = scripted_table([4, 6], ROWS, len(PROMPT), otherwise=5)
    generation = decoder_of(target, target, 4).generation(
        GenerationRequest(PROMPT, GREEDY, stop_ids=frozenset({6}))
    )
    generation.step()
    assert generation.stats.drafted == 2


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 9])
def test_max_tokens_is_never_passed_and_nothing_is_drafted_beyond_it(limit: int) -> None:
    target = random_table(1, ROWS)
    generation = decoder_of(target, target, 4).generation(GenerationRequest(PROMPT, GREEDY, max_tokens=limit))
    while generation.finish_reason is None:
        generation.step()
    assert len(generation.output_ids) == limit
    assert generation.finish_reason == "length"
    assert generation.stats.drafted == generation.stats.accepted <= limit - 1


@pytest.mark.parametrize("deterministic", [False, True])
def test_the_context_ends_a_text_without_max_tokens(deterministic: bool) -> None:
    target = random_table(1, ROWS)
    decoder = decoder_of(target, random_table(2, ROWS), 4, context=20, deterministic=deterministic)
    output = decode(decoder, GenerationRequest(PROMPT, GREEDY))
    assert len(output) == 17


def test_no_engine_runs_after_the_stop_decision() -> None:
    target = scripted_table([4, 6], ROWS, len(PROMPT))
    decoder = decoder_of(target, target, 4)
    generation = decoder.generation(GenerationRequest(PROMPT, GREEDY, stop_ids=frozenset({6})))
    generation.step()
    calls = len(decoder.target.engine.calls)  # type: ignore[attr-defined]
    assert generation.finish_reason == "stop"
    with pytest.raises(AssertionError):
        generation.step()
    assert len(decoder.target.engine.calls) == calls  # type: ignore[attr-defined]


def test_deterministic_mode_calls_the_target_at_one_width_only() -> None:
    decoder = decoder_of(random_table(1, ROWS), random_table(2, ROWS), 3, deterministic=True)
    for speculative in (True, False):
        engine = decoder.target.engine
        engine.calls.clear()  # type: ignore[attr-defined]
        decode(decoder, GenerationRequest(PROMPT, GREEDY, max_tokens=20), speculative=speculative)
        assert set(engine.calls[1:]) == {(4, 4)}  # type: ignore[attr-defined]


def test_a_seed_gives_the_same_text_again_and_another_seed_another_text() -> None:
    decoder = decoder_of(random_table(1, ROWS), random_table(2, ROWS))
    request = GenerationRequest(PROMPT, WarpParams(temperature=2.0), max_tokens=40)
    texts = [decode(decoder, request, source=RandomSource(seed)) for seed in (7, 7, 8)]
    assert texts[0] == texts[1] != texts[2]


def test_a_request_does_not_depend_on_the_one_before() -> None:
    request = GenerationRequest((4, 4), WarpParams(), max_tokens=15)
    fresh = decode(decoder_of(random_table(1, ROWS), random_table(2, ROWS)), request, source=RandomSource(5))
    used = decoder_of(random_table(1, ROWS), random_table(2, ROWS))
    cancelled = used.decode(GenerationRequest(PROMPT, WarpParams()), RandomSource(1))
    next(cancelled)
    decode(used, GenerationRequest(PROMPT, GREEDY), speculative=False)
    assert decode(used, request, source=RandomSource(5)) == fresh


def test_decisions_are_keyed_by_the_position_at_which_the_round_starts() -> None:
    keys: list[DecisionKey] = []

    class Recorder(Accepts):
        def choose(self, law: Law, key: DecisionKey) -> int:
            keys.append(key)
            return super().choose(law, key)

        def accept(self, probability: float, key: DecisionKey) -> bool:
            keys.append(key)
            return super().accept(probability, key)

    generation = decoder_of(random_table(1, ROWS), random_table(2, ROWS), 2).generation(
        GenerationRequest(PROMPT), Recorder([2, 0])
    )
    generation.step()
    generation.step()
    assert keys == [
        (0, 0, Purpose.DRAFT),
        (0, 1, Purpose.DRAFT),
        (0, 0, Purpose.ACCEPT),
        (0, 1, Purpose.ACCEPT),
        (0, 2, Purpose.BONUS),
        (3, 0, Purpose.DRAFT),
        (3, 1, Purpose.DRAFT),
        (3, 0, Purpose.ACCEPT),
        (3, 0, Purpose.RESIDUAL),
    ]


def test_stage_times_add_up_to_the_rounds() -> None:
    decoder = decoder_of(random_table(1, ROWS), random_table(2, ROWS))
    generation = decoder.generation(GenerationRequest(PROMPT, max_tokens=20))
    while generation.finish_reason is None:
        generation.step()
    seconds = generation.stats.seconds
    assert all(seconds[stage] > 0 for stage in ("prefill", "draft", "sample", "verify", "accept", "host"))


@pytest.mark.parametrize(
    ("prompt", "phrase"),
    [
        ((), "the prompt is empty"),
        ((1,) * 48, "48 tokens and leaves no room in a context of 48"),
        ((1,) * 100, "leaves no room"),
        ((1, ROWS), "token id 7 is outside"),
        ((-1,), "token id -1 is outside"),
    ],
)
def test_a_prompt_that_cannot_be_served_is_refused(prompt: tuple[int, ...], phrase: str) -> None:
    decoder = decoder_of(random_table(1, ROWS), None)
    with pytest.raises(RequestError, match=phrase) as caught:
        decoder.generation(GenerationRequest(prompt))
    assert caught.value.param == "prompt"


@pytest.mark.parametrize(
    ("options", "error", "phrase"),
    [
        ({"num_drafts": -1}, UsageError, "must not be negative"),
        ({"context": 65}, UsageError, "context must lie between 2 and the models' 64 positions"),
        ({"context": 1}, UsageError, "context must lie between"),
        ({"context": 40, "capacity": 44}, UsageError, "needs a cache of 45 slots, cache_capacity is 44"),
        ({"capacity": 5}, UsageError, "leaves no room"),
        ({"draft_policy": "guess"}, UsageError, "must be one of fixed, confidence"),
    ],
)
def test_options_that_contradict_are_refused(
    options: dict[str, object], error: type[RedraftError], phrase: str
) -> None:
    with pytest.raises(error, match=phrase):
        decoder_of(random_table(1, ROWS), random_table(2, ROWS), **options)  # type: ignore[arg-type]


def test_a_drafter_over_other_target_ids_is_refused() -> None:
    with pytest.raises(MismatchError, match="redistributes over 5 target ids"):
        Decoder(FakeEngine(random_table(1, 7), 7), FakeEngine(random_table(2, 5), 5, drafter=True))


def test_a_factored_drafter_is_refused_by_name() -> None:
    import dataclasses

    engine = FakeEngine(random_table(2, ROWS), ROWS, drafter=True)
    engine.spec = dataclasses.replace(engine.spec, variant="factored")
    with pytest.raises(UnsupportedError, match="this graph is 'factored'"):
        Decoder(FakeEngine(random_table(1, ROWS), ROWS), engine)


def test_the_disco_policy_drafts_less_where_the_drafter_is_unsure() -> None:
    target = random_table(1, ROWS, scale=0.2)
    request = GenerationRequest(PROMPT, GREEDY, max_tokens=40)
    plain = decode(decoder_of(target, None), request)
    drafted = {}
    for policy in ("fixed", "confidence"):
        decoder = decoder_of(target, random_table(2, ROWS, scale=0.2), 4, draft_policy=policy)
        generation = decoder.generation(request)
        while generation.finish_reason is None:
            generation.step()
        assert generation.output_ids == plain
        drafted[policy] = generation.stats.drafted / generation.stats.draft_rounds
    assert drafted["confidence"] < drafted["fixed"]


def test_unwritten_slots_are_never_read() -> None:
    seen: set[int] = set()
    table = random_table(1, ROWS)

    def target(context: tuple[int, ...]) -> np.ndarray:
        seen.update(context)
        return table(context)

    decode(decoder_of(target, random_table(2, ROWS)), GenerationRequest(PROMPT, max_tokens=30))
    assert UNWRITTEN not in seen
