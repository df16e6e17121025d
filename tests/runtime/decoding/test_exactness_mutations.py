"""Tests of the exactness test: each classic fault makes the enumerated law differ from the target's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.support.enumeration import distance, output_law, plain_law
from tests.support.enumeration_cells import NUM_ROWS, PROMPT, target_table
from tests.support.fake_engines import FakeEngine, random_table

from redraft.runtime.decoding import Decoder, GenerationRequest, Law, WarpParams, acceptance_rule
from redraft.runtime.decoding.cached_model import CachedModel
from redraft.runtime.decoding.draft_round import DraftRound

VISIBLE = 1e-3
Mutate = Callable[[pytest.MonkeyPatch], None]


def law_error(num_drafts: int = 2, params: WarpParams | None = None) -> float:
    decoder = Decoder(
        FakeEngine(target_table(), NUM_ROWS),
        FakeEngine(random_table(2, NUM_ROWS), NUM_ROWS, drafter=True),
        num_speculative_tokens=num_drafts,
        context=24,
    )
    request = GenerationRequest(PROMPT, params or WarpParams(temperature=0.8), max_tokens=3)
    return distance(output_law(decoder, request, 3), plain_law(target_table(), request, 3))


def test_the_unmutated_loop_passes() -> None:
    assert law_error() < 1e-12


def residual_that_subtracts_only_the_draft(patch: pytest.MonkeyPatch) -> None:
    drafted: list[int] = []
    real = acceptance_rule.accept_probability

    def remember(p: Law, q: Law, target_id: int) -> float:
        drafted[:] = [target_id]
        return real(p, q, target_id)

    def residual(p: Law, q: Law) -> Law:
        left = p.probs()
        left[drafted[0]] = max(left[drafted[0]] - q.prob(drafted[0]), 0.0)
        return Law(left)

    patch.setattr(acceptance_rule, "accept_probability", remember)
    patch.setattr(acceptance_rule, "residual", residual)


def residual_that_is_the_target(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(acceptance_rule, "residual", lambda p, q: p)


def _with_q(patch: pytest.MonkeyPatch, other: Callable[[Law], Law]) -> None:
    accept, residual = acceptance_rule.accept_probability, acceptance_rule.residual
    patch.setattr(acceptance_rule, "accept_probability", lambda p, q, i: accept(p, other(q), i))
    patch.setattr(acceptance_rule, "residual", lambda p, q: residual(p, other(q)))


def uniform_q(patch: pytest.MonkeyPatch) -> None:
    _with_q(patch, lambda q: Law(np.ones(NUM_ROWS, np.float32)))


def unwarped_q(patch: pytest.MonkeyPatch) -> None:
    _with_q(patch, lambda q: Law(q.probs() ** 0.8))


def target_keeps_one_token_too_many(patch: pytest.MonkeyPatch) -> None:
    real = CachedModel.rollback

    def rollback(self: CachedModel, length: int) -> None:
        wrong = length + 1 if self.engine.spec.role == "target" and length else length
        real(self, min(wrong, self.length))

    patch.setattr(CachedModel, "rollback", rollback)


def target_keeps_one_token_too_few_but_thinks_not(patch: pytest.MonkeyPatch) -> None:
    real = FakeEngine.run

    def run(self: FakeEngine, call, cache):  # type: ignore[no-untyped-def]
        if self.spec.role == "target":
            call.write_pos = np.maximum(call.write_pos - 1, 0)
        return real(self, call, cache)

    patch.setattr(FakeEngine, "run", run)


def rows_shifted_by_one(patch: pytest.MonkeyPatch) -> None:
    real = CachedModel.extend

    def extend(self: CachedModel, token_ids, **options):  # type: ignore[no-untyped-def]
        rows = real(self, token_ids, **options)
        return np.roll(rows, 1, axis=0) if self.engine.spec.role == "target" else rows

    patch.setattr(CachedModel, "extend", extend)


def unsure_draft_is_dropped(patch: pytest.MonkeyPatch) -> None:
    real = DraftRound.add

    def add(self: DraftRound, row):  # type: ignore[no-untyped-def]
        token = real(self, row)
        if len(self.token_ids) > 1 and self.laws[-1].prob(token) < 0.4:
            self.token_ids.pop()
            self.laws.pop()
            self.done = True
        return token

    patch.setattr(DraftRound, "add", add)


@pytest.mark.parametrize(
    "mutate",
    [
        residual_that_subtracts_only_the_draft,
        residual_that_is_the_target,
        uniform_q,
        unwarped_q,
        target_keeps_one_token_too_many,
        target_keeps_one_token_too_few_but_thinks_not,
        rows_shifted_by_one,
        unsure_draft_is_dropped,
    ],
)
def test_a_fault_turns_the_law_check_red(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    assert law_error() > VISIBLE
