"""The law of sampled output on a real engine: chi-square of the first two tokens against the exact plain law.

Enumeration covers the loop on tables (`tests/runtime/decoding/test_exactness.py`); this covers what a table
cannot: the exported, lowered graphs, redistribution in the drafter's graph, caches and real random words.

Family error rate 1 % (Bonferroni over the cells, fixed seeds); power at least 95 % in every cell against a
law whose Cohen effect size from the right one is 0.25 (asserted below): about a total variation of 0.12 that
is spread evenly over the joint law.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.support.array_checkpoint import ArrayCheckpoint, tiny_config
from tests.support.warp_oracle import warp_oracle

from redraft.engines import LoadOptions, Profile, get_backend
from redraft.engines.base import Engine
from redraft.export import Precision, drafter_body_digest, export_drafter, export_target, head_rows
from redraft.export.config import LayerConfig, RopeConfig
from redraft.rdk.prior import PriorInputs, unfitted_prior
from redraft.rdk.vocabulary import VocabMap
from redraft.runtime.decoding import (
    CachedModel,
    Decoder,
    GenerationRequest,
    Law,
    RandomSource,
    WarpParams,
    acceptance_rule,
)

BACKEND = get_backend("ort-cpu")
pytestmark = pytest.mark.skipif(not BACKEND.availability().ok, reason=BACKEND.availability().reason)

ROWS = 10
PROMPT = (3, 8, 7)
SAMPLES = 1450
FAMILY_ERROR = 0.01
EFFECT = 0.25
MIN_POWER = 0.95
MIN_EXPECTED = 5.0
FACTORS: dict[str, tuple[Any, ...]] = {
    "kind": ("tli", "bucket", "low-rank", "first-order", "dense"),
    "temperature": (0.7, 1.0, 1.6),
    "top_k": (0, 5),
    "top_p": (1.0, 0.85),
    "min_p": (0.0, 0.1),
    "drafts": (1, 3, 5),
    "policy": ("fixed", "confidence"),
}


def pairwise_cover(factors: dict[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Rows in which every pair of values of two factors occurs at least once: greedy, deterministic."""
    names = list(factors)
    missing = {
        ((a, x), (b, y)) for a, b in itertools.combinations(names, 2) for x in factors[a] for y in factors[b]
    }
    everything = [dict(zip(names, row, strict=True)) for row in itertools.product(*factors.values())]
    rows: list[dict[str, Any]] = []
    while missing:
        best = max(everything, key=lambda row: len(_pairs(row) & missing))
        rows.append(best)
        missing -= _pairs(best)
    return rows


def _pairs(row: dict[str, Any]) -> set[tuple[tuple[str, Any], tuple[str, Any]]]:
    return set(itertools.combinations(row.items(), 2))


CELLS = pairwise_cover(FACTORS)


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Engine]]:
    """The target and an int4 self-drafter of every kind that keeps 4 of 10 tokens."""
    config = tiny_config(
        head_rows=ROWS,
        hidden_size=32,
        num_heads=2,
        num_kv_heads=1,
        intermediate_size=32,
        layers=(LayerConfig(None, RopeConfig(10000.0)),),
    )
    checkpoint = ArrayCheckpoint.random(config, seed=4)
    checkpoint.arrays["head.weight"] *= np.float32(2)
    vocab_map = VocabMap(np.array([0, 3, 6, 7], np.int32), ROWS, "0" * 64)
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.ones(ROWS), 30)
    inputs = PriorInputs(
        vocab_map,
        drafter_body_digest(checkpoint, Precision.parse("int4")),
        head_rows=lambda ids: head_rows(checkpoint, ids),
        mean_target=rows.mean(axis=0),
        covariance_factor=((rows - rows.mean(axis=0)).T / np.sqrt(30)).astype(np.float32),
        second_moment=np.eye(32),
    )
    loaded: dict[str, Engine] = {}
    for name in ("target", *FACTORS["kind"]):
        folder: Path = tmp_path_factory.mktemp(name)
        (folder / "engine").mkdir()
        if name == "target":
            export_target(checkpoint, folder / "graph", Precision())
        else:
            prior = unfitted_prior(name, inputs, rank=4 if name == "low-rank" else None, epsilon=0.3)
            export_drafter(checkpoint, folder / "graph", Precision.parse("int4"), vocab_map, prior)
        BACKEND.build(folder / "graph", folder / "engine", Profile(capacity=64))
        loaded[name] = BACKEND.load(folder / "engine", LoadOptions(threads=1))
    yield loaded
    for engine in loaded.values():
        engine.close()


def exact_law(engine: Engine, params: WarpParams) -> np.ndarray:
    """[T, T] float64: the joint law of the first two tokens of plain decoding, from the target's logits."""
    model = CachedModel(engine, capacity=32, context=30)
    first = warp_oracle(model.extend(PROMPT)[0].copy(), params)
    joint = np.zeros((ROWS, ROWS))
    for token in np.flatnonzero(first):
        model.rollback(len(PROMPT))
        joint[token] = first[token] * warp_oracle(model.extend([int(token)])[0].copy(), params)
    return joint


def sample(decoder: Decoder, params: WarpParams, samples: int) -> tuple[np.ndarray, int, int]:
    """Counts [T, T] of the first two tokens of speculative decoding; drafts made; drafts accepted."""
    request = GenerationRequest(PROMPT, params, max_tokens=8)
    counts = np.zeros((ROWS, ROWS), np.int64)
    drafted = accepted = 0
    for seed in range(samples):
        generation = decoder.generation(request, RandomSource(seed))
        while generation.num_emitted < 2:
            generation.step()
        first, second = generation.output_ids[:2]
        counts[first, second] += 1
        drafted += generation.stats.drafted
        accepted += generation.stats.accepted
    return counts, drafted, accepted


def chi_square(counts: np.ndarray, law: np.ndarray) -> tuple[float, int]:
    """p-value and degrees of freedom; outcomes with fewer than 5 expected counts are taken together."""
    assert not counts[law == 0].any(), "an outcome without probability was drawn"
    expected = law.ravel() * counts.sum()
    large = expected >= MIN_EXPECTED
    observed = np.append(counts.ravel()[large], counts.ravel()[~large].sum())
    wanted = np.append(expected[large], expected[~large].sum())
    if wanted[-1] < MIN_EXPECTED:  # too rare even together: they join the rarest of the others
        least = int(np.argmin(wanted[:-1]))
        wanted[least] += wanted[-1]
        observed[least] += observed[-1]
        wanted, observed = wanted[:-1], observed[:-1]
    degrees = len(wanted) - 1
    return float(stats.chisquare(observed, wanted).pvalue), degrees


def power(samples: int, degrees: int, alpha: float) -> float:
    """Of the chi-square test against a law of effect size EFFECT."""
    critical = stats.chi2.ppf(1 - alpha, degrees)
    return float(stats.ncx2.sf(critical, degrees, samples * EFFECT**2))


def decoder_of(engines: dict[str, Engine], cell: dict[str, Any]) -> Decoder:
    return Decoder(
        engines["target"],
        engines[cell["kind"]],
        num_speculative_tokens=cell["drafts"],
        draft_policy=cell["policy"],
        context=30,
    )


def params_of(cell: dict[str, Any]) -> WarpParams:
    return WarpParams(*(cell[name] for name in ("temperature", "top_k", "top_p", "min_p")))


def test_the_cells_hold_every_pair_of_settings() -> None:
    covered = set().union(*(_pairs(cell) for cell in CELLS))
    for a, b in itertools.combinations(FACTORS, 2):
        for x, y in itertools.product(FACTORS[a], FACTORS[b]):
            assert ((a, x), (b, y)) in covered
    assert len(CELLS) <= 20


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: "-".join(str(value) for value in cell.values()))
def test_sampled_output_has_the_plain_law(engines: dict[str, Engine], cell: dict[str, Any]) -> None:
    params = params_of(cell)
    law = exact_law(engines["target"], params)
    counts, drafted, accepted = sample(decoder_of(engines, cell), params, SAMPLES)
    assert 0 < accepted < drafted, "both outcomes of the acceptance rule must occur"
    alpha = FAMILY_ERROR / len(CELLS)
    p_value, degrees = chi_square(counts, law)
    assert power(SAMPLES, degrees, alpha) >= MIN_POWER
    assert p_value > alpha


def _accept_all(p: Law, q: Law, target_id: int) -> float:
    return 1.0


def _residual_of_plain_p(p: Law, q: Law) -> Law:
    return p


def _same_match(p: Law, q: Law, target_id: int) -> float:
    return p.prob(target_id)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("accept_probability", _accept_all),
        ("residual", _residual_of_plain_p),
        ("accept_probability", _same_match),
    ],
)
def test_a_wrong_rule_is_found(
    engines: dict[str, Engine], monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any
) -> None:
    cell = dict.fromkeys(FACTORS) | {"kind": "tli", "drafts": 3, "policy": "fixed"}
    params = WarpParams(temperature=1.0)
    law = exact_law(engines["target"], params)
    monkeypatch.setattr(acceptance_rule, name, wrong)
    counts, _, _ = sample(decoder_of(engines, cell), params, SAMPLES)
    p_value, _ = chi_square(counts, law)
    assert p_value < FAMILY_ERROR / len(CELLS)
