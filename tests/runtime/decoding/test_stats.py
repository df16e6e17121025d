"""Statistics of rounds."""

from __future__ import annotations

from redraft.runtime.decoding import DecodingStats


def test_rates_and_lengths_follow_from_the_rounds() -> None:
    stats = DecodingStats()
    for drafted, accepted in ((4, 4), (4, 1), (2, 0), (0, 0)):
        stats.add_round(drafted, accepted, accepted + 1)
    assert stats.acceptance_rate == 0.5
    assert stats.mean_accepted_drafts == 5 / 3
    assert stats.mean_acceptance_length == 1 + 5 / 3
    assert stats.drafted_per_position == [3, 3, 2, 2]
    assert stats.accepted_per_position == [2, 1, 1, 1]
    assert stats.accepted_histogram == [1, 1, 0, 0, 1]
    assert stats.emitted == 9


def test_nothing_drafted_is_no_division_by_zero() -> None:
    stats = DecodingStats()
    stats.add_round(0, 0, 1)
    assert (stats.acceptance_rate, stats.mean_acceptance_length, stats.redistributed_mass) == (0.0, 1.0, 0.0)


def test_merging_adds_every_field() -> None:
    one, two, both = DecodingStats(), DecodingStats(), DecodingStats()
    one.add_round(2, 1, 2)
    two.add_round(4, 4, 5)
    one.seconds["draft"], two.seconds["draft"] = 1.0, 2.0
    for accepted, drafted in ((1, 2), (4, 4)):
        both.add_round(drafted, accepted, accepted + 1)
    both.seconds["draft"] = 3.0
    one.merge(two)
    assert one == both
