"""CachedModel: lengths, chunks, padding and limits."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.fake_engines import FakeCache, FakeEngine, random_table

from redraft._core.errors import RedraftError
from redraft.runtime.decoding import CachedModel

ROWS = 5
TABLE = random_table(1, ROWS)


def model_of(**options: int) -> CachedModel:
    return CachedModel(FakeEngine(TABLE, ROWS), **{"capacity": 20, "context": 16, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 8, 9])
@pytest.mark.parametrize("num_logits", [1, 2, 4])
def test_chunks_of_any_size_give_the_same_logits(chunk: int, num_logits: int) -> None:
    tokens = [1, 4, 2, 3, 0, 1, 2, 4]
    model = model_of(prefill_chunk=chunk)
    rows = model.extend(tokens, num_logits=num_logits)
    assert model.length == 8
    expected = [TABLE(tuple(tokens[: 8 - num_logits + 1 + i])) for i in range(num_logits)]
    np.testing.assert_array_equal(rows, expected)


def test_padding_counts_neither_in_the_length_nor_in_the_logits() -> None:
    model = model_of()
    model.prefill([1, 2, 3])
    rows = model.extend([4, 0], num_logits=2, width=6)
    np.testing.assert_array_equal(rows, [TABLE((1, 2, 3, 4)), TABLE((1, 2, 3, 4, 0))])
    assert model.length == 5
    np.testing.assert_array_equal(model.extend([2])[0], TABLE((1, 2, 3, 4, 0, 2)))


def test_padding_may_pass_the_context_but_its_positions_do_not() -> None:
    positions: list[np.ndarray] = []

    class Spy(FakeEngine):
        def run(self, call, cache):  # type: ignore[no-untyped-def]
            positions.append(call.position_ids.copy())
            return super().run(call, cache)

    model = CachedModel(Spy(TABLE, ROWS), capacity=20, context=16)
    model.prefill([1] * 15)
    model.extend([2], width=4)
    assert positions[-1].tolist() == [[15, 15, 15, 15]]


def test_rolling_back_copies_nothing_and_the_next_call_overwrites() -> None:
    model = model_of()
    model.prefill([1, 2, 3, 4])
    assert isinstance(model.cache, FakeCache)
    before = model.cache.slots.copy()
    model.rollback(2)
    np.testing.assert_array_equal(model.cache.slots, before)
    np.testing.assert_array_equal(model.extend([0])[0], TABLE((1, 2, 0)))


def test_rows_of_a_batch_keep_their_own_lengths() -> None:
    model = model_of(batch=2)
    model.forward(np.array([[1, 2, 3], [4, 0, 0]]), np.array([[2], [0]]), np.array([3, 1]))
    assert model.lengths.tolist() == [3, 1]
    logits = model.forward(np.array([[1], [2]]), np.array([[0], [0]]))
    np.testing.assert_array_equal(logits[:, 0], [TABLE((1, 2, 3, 1)), TABLE((4, 2))])


def test_a_call_past_the_context_is_refused() -> None:
    model = model_of()
    model.prefill([1] * 16)
    with pytest.raises(RedraftError, match="would reach 17 tokens, the context holds 16"):
        model.extend([1])


def test_a_call_past_the_capacity_is_refused() -> None:
    model = model_of(capacity=16)
    model.prefill([1] * 14)
    with pytest.raises(RedraftError, match="a call of 4 tokens at length 14 passes the cache's 16 slots"):
        model.extend([1], width=4)
