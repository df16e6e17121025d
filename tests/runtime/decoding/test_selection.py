"""Selection without a sort equals selection by a sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.runtime.decoding.selection import largest, nucleus


def by_sort(values: np.ndarray, k: int) -> list[int]:
    return sorted(np.argsort(-values, kind="stable")[:k].tolist())


def nucleus_by_sort(weights: np.ndarray, goal: float) -> list[int]:
    order = np.argsort(-weights, kind="stable")
    running = np.cumsum(weights[order], dtype=np.float64)
    return sorted(order[: int(np.searchsorted(running, goal)) + 1].tolist())


@given(st.integers(0, 2**32 - 1), st.integers(1, 6000), st.integers(1, 300), st.integers(1, 400))
def test_largest_takes_exactly_k_and_breaks_ties_by_the_lowest_index(
    seed: int, size: int, k: int, distinct: int
) -> None:
    values = np.random.default_rng(seed).integers(0, distinct, size).astype(np.float32)
    assert largest(values, k).tolist() == by_sort(values, min(k, size))


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6000),
    st.floats(0.01, 0.99),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.booleans(),
)
def test_nucleus_is_the_shortest_sorted_prefix(
    seed: int, size: int, top_p: float, spread: float, rounded: bool
) -> None:
    logits = np.random.default_rng(seed).normal(0, spread, size)
    weights = np.exp((np.round(logits) if rounded else logits).astype(np.float32))
    goal = top_p * float(weights.sum(dtype=np.float64))
    got, expected = nucleus(weights, goal).tolist(), nucleus_by_sort(weights, goal)
    if got != expected:  # the goal fell on a partial sum, where the order of summation decides
        assert abs(len(got) - len(expected)) == 1
        short, long = sorted((set(got), set(expected)), key=len)
        assert short < long
        assert float(weights[sorted(short)].sum(dtype=np.float64)) == pytest.approx(goal, rel=1e-12)


def test_nucleus_of_equal_weights_counts_out_the_lowest_ids() -> None:
    assert nucleus(np.ones(5000, np.float32), 1234.5).tolist() == list(range(1235))
