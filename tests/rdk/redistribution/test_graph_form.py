"""The graph form against the reference, as a function and inlined, on ordinary and on extreme logits."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import pytest
from tests.support.rdk_cases import random_prior, small_map
from tests.support.rdk_graph import node_model, run_node
from tests.support.tolerances import assert_close

from redraft._core.errors import UnsupportedError, UsageError
from redraft.rdk.prior import KINDS, RdkPrior
from redraft.rdk.redistribution import distribution, rdk_function, rdk_node_inputs, reference
from redraft.rdk.vocabulary import VocabMap

MAPS = {
    "D6": small_map(),
    "padding": small_map(num_tokens=20),
    "D1": small_map(hot=1),
    "C1": small_map(hot=22),
    "C0": VocabMap(np.arange(23, dtype=np.int32), 23, "5" * 64),
    "only-padding-cold": VocabMap(np.arange(20, dtype=np.int32), 23, "5" * 64, 20),
}
NEGLIGIBLE = 1e-30  # below this d may underflow in float32


def agree(
    prior: RdkPrior,
    vocab_map: VocabMap,
    hot: np.ndarray,
    hidden: np.ndarray,
    *,
    soft_cap: float | None = None,
    inline: bool = False,
    optimise: bool = True,
) -> None:
    """Fail unless graph and reference give the same logits, and the sentinel at the same entries."""
    hot, hidden = hot.astype(np.float32), hidden.astype(np.float32)
    expected = reference(prior, vocab_map, hot, hidden, soft_cap=soft_cap)
    found = run_node(prior, vocab_map, hot, hidden, soft_cap=soft_cap, inline=inline, optimise=optimise)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    none = expected == -1e30
    assert (found[none] == np.float32(-1e30)).all()
    assert_close(distribution(found), distribution(expected))
    visible = distribution(expected) > NEGLIGIBLE
    assert_close(found[visible], expected[visible])


def inputs(vocab_map: VocabMap, shape: tuple[int, int] = (2, 3)) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(0, 3, size=(*shape, vocab_map.num_hot)), rng.normal(size=(*shape, 5))


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", KINDS)
def test_graph_and_reference_agree_as_function_and_inlined(kind: str, name: str) -> None:
    vocab_map = MAPS[name]
    prior = random_prior(kind, vocab_map)
    hot, hidden = inputs(vocab_map)
    agree(prior, vocab_map, hot, hidden)
    agree(prior, vocab_map, hot, hidden, inline=True)
    agree(prior, vocab_map, hot, hidden, inline=True, optimise=False)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (4, 1)])
@pytest.mark.parametrize("kind", KINDS)
def test_one_graph_serves_every_number_of_rows(kind: str, shape: tuple[int, int]) -> None:
    vocab_map = MAPS["padding"]
    agree(random_prior(kind, vocab_map), vocab_map, *inputs(vocab_map, shape))


EXTREMES = {
    "plus and minus 80": [80.0, -80.0, 80.0, -80.0, 0.0, 40.0],
    "one token has all": [120.0, -50.0, -60.0, -70.0, -80.0, -90.0],
    "ties": [2.0, 2.0, 2.0, 2.0, 2.0, 2.0],
    "all far below": [-500.0, -501.0, -502.0, -503.0, -504.0, -505.0],
    "all far above": [500.0, 501.0, 502.0, 503.0, 504.0, 505.0],
    "masked": [1.0, -1e30, 2.0, -1e30, -1e30, 0.0],
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("kind", KINDS)
def test_extreme_logits_stay_finite_and_exact(kind: str, name: str) -> None:
    vocab_map = MAPS["D6"]
    hot = np.array(EXTREMES[name]).reshape(1, 1, 6)
    agree(random_prior(kind, vocab_map), vocab_map, hot, np.ones((1, 1, 5)))


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 1.0])
@pytest.mark.parametrize("kind", ["dense", "first-order"])
def test_the_ends_of_epsilon_agree(kind: str, epsilon: float) -> None:
    vocab_map = MAPS["padding"]
    agree(random_prior(kind, vocab_map, epsilon=epsilon), vocab_map, *inputs(vocab_map))


@pytest.mark.parametrize("kind", ["dense", "first-order"])
def test_hot_tokens_far_below_the_top_keep_their_logits_although_d_underflows(kind: str) -> None:
    vocab_map = MAPS["D6"]
    hot = np.array(EXTREMES["plus and minus 80"]).reshape(1, 1, 6)
    found = run_node(random_prior(kind, vocab_map, epsilon=0.0), vocab_map, hot, np.ones((1, 1, 5)))
    assert_close(found[..., vocab_map.target_ids], hot)


def test_a_first_order_prior_that_clamps_agrees() -> None:
    vocab_map = MAPS["D6"]
    prior = random_prior("first-order", vocab_map)
    prior = dataclasses.replace(prior, scalars={"epsilon": 0.5, "tau": 1e-6})
    hot, hidden = inputs(vocab_map)
    assert (distribution(reference(prior, vocab_map, hot)) == 0).any()
    agree(prior, vocab_map, hot, hidden)


def test_a_soft_cap_agrees() -> None:
    vocab_map = MAPS["padding"]
    hot, hidden = inputs(vocab_map)
    agree(random_prior("low-rank", vocab_map), vocab_map, hot, hidden * 20, soft_cap=4.0)


@pytest.mark.parametrize("kind", ["tli", "bucket"])
def test_nothing_pruned_costs_one_identity_node_and_changes_no_bit(kind: str) -> None:
    vocab_map = MAPS["C0"]
    prior = random_prior(kind, vocab_map)
    assert [node.op_type for node in rdk_function(kind, identity=True)] == ["Identity"]
    assert rdk_node_inputs(prior, vocab_map) == {}
    hot, hidden = inputs(vocab_map)
    assert (run_node(prior, vocab_map, hot, hidden) == hot.astype(np.float32)).all()


def test_tli_hot_entries_are_the_raw_logits_bit_for_bit() -> None:
    vocab_map = MAPS["padding"]
    hot, hidden = inputs(vocab_map)
    found = run_node(random_prior("tli", vocab_map), vocab_map, hot, hidden)
    assert (found[..., vocab_map.target_ids] == hot.astype(np.float32)).all()
    assert (found[..., vocab_map.cold_ids] == np.float32(-1e30)).all()


@pytest.mark.parametrize("kind", ["tli", "shift", "first-order", "bucket", "low-rank"])
def test_constants_grow_linearly_with_the_vocabulary(kind: str) -> None:
    sizes = []
    for rows in (100, 200):
        vocab_map = small_map(rows, rows // 10)
        sizes.append(sum(a.size for a in rdk_node_inputs(random_prior(kind, vocab_map), vocab_map).values()))
    assert sizes[1] <= 2 * sizes[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_canonical_node_is_one_call_of_one_function_without_foreign_operators(kind: str) -> None:
    model = node_model(random_prior(kind, MAPS["D6"]), MAPS["D6"])
    onnx.checker.check_model(model, full_check=True)
    assert [(f.domain, f.name) for f in model.functions] == [("redraft", "RdkRedistribute")]
    assert {node.domain for node in model.functions[0].node} == {""}
    assert [(o.domain, o.version) for o in model.functions[0].opset_import] == [("", 24)]


def test_bucket_under_a_soft_cap_and_unknown_kinds_have_no_graph() -> None:
    with pytest.raises(UnsupportedError, match="caps them softly"):
        rdk_function("bucket", soft_cap=30.0)
    with pytest.raises(UsageError, match="'gram' is unknown"):
        rdk_function("gram")
