"""Checks of a whole bundle: drafter parity, rollback, belonging; each refuses what it is there for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.speculative_bundle import speculative_bundle

from redraft.engines.base import Call, Engine, KVCache, Outputs
from redraft.engines.bundle import Bundle, load_engine
from redraft.engines.verification import (
    check_belonging,
    check_engine,
    check_graph,
    check_rollback,
    passed,
    scan_arrays,
)
from redraft.export.checkpoint import open_checkpoint
from redraft.rdk.prior import load_prior
from redraft.rdk.vocabulary import VocabMap

IDS = np.random.default_rng(0).integers(3, 280, 40).tolist()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return speculative_bundle(tmp_path_factory.mktemp("bundle") / "b", variant="llama-tied")


@pytest.mark.parametrize("kind", ["tli", "bucket", "low-rank", "first-order", "dense"])
def test_a_drafter_of_every_kind_passes(tmp_path: Path, kind: str) -> None:
    made = speculative_bundle(tmp_path / "b", kind=kind)
    checkpoint = open_checkpoint(made.part("drafter").source.uri)
    vocab_map, prior = VocabMap.load(made.vocab_map_file), load_prior(made.prior_file)
    check = check_graph(made.graph_folder("drafter"), checkpoint, IDS, vocab_map=vocab_map, prior=prior)
    assert check.ok, check.sentence
    with load_engine(made, "drafter") as engine:
        checks = check_engine(engine, made.graph_folder("drafter"), IDS)
    assert passed(checks), checks


def test_rollback_leaves_no_trace(bundle: Bundle) -> None:
    for role in ("target", "drafter"):
        with load_engine(bundle, role) as engine:  # type: ignore[arg-type]
            check = check_rollback(engine, IDS, num_drafts=5)
        assert check.ok, check.sentence


class _ReadsAhead(Engine):
    """An engine with an off-by-one in its cache length: a row sees one slot too many."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.spec, self.backend = engine, engine.spec, engine.backend

    def allocate_cache(self, batch: int, capacity: int) -> KVCache:
        return self._engine.allocate_cache(batch, capacity + 1)

    def run(self, call: Call, cache: KVCache) -> Outputs:
        shifted = Call(call.input_ids, call.position_ids, np.maximum(call.write_pos - 1, 0), call.logit_rows)
        return self._engine.run(call if call.input_ids.shape[1] > 1 else shifted, cache)

    def close(self) -> None:
        self._engine.close()


def test_an_off_by_one_in_the_cache_length_fails_the_rollback_check(bundle: Bundle) -> None:
    with _ReadsAhead(load_engine(bundle, "target")) as engine:
        assert check_rollback(engine, IDS).ok is False


def test_a_bundle_belongs_together(bundle: Bundle) -> None:
    check = check_belonging(bundle)
    assert check.ok, check.sentence
    assert check.figures["compared"] == 7


@pytest.mark.parametrize(
    ("file", "field"),
    [("drafter/draft/graph.json", "map_digest"), ("drafter/draft/graph.json", "body_digest")],
)
def test_a_foreign_digest_is_found(bundle: Bundle, tmp_path: Path, file: str, field: str) -> None:
    shutil.copytree(bundle.folder, tmp_path / "b")
    path = tmp_path / "b" / file
    value: dict[str, Any] = json.loads(path.read_text())
    value[field] = "0" * 64
    path.write_text(json.dumps(value))
    check = check_belonging(Bundle(tmp_path / "b", bundle.manifest))
    assert check.ok is False
    assert "000000000000" in check.sentence or "another graph" in check.sentence


def test_another_map_of_the_same_size_is_found(bundle: Bundle, tmp_path: Path) -> None:
    shutil.copytree(bundle.folder, tmp_path / "b")
    found = VocabMap.load(bundle.vocab_map_file)
    ids = found.target_ids.copy()
    free = sorted(set(range(found.num_tokens)) - set(ids.tolist()))
    ids[-1] = max(free)
    VocabMap(np.sort(ids), found.rows, found.tokenizer_digest, found.num_tokens).save(
        tmp_path / "b" / "vocab_map.safetensors"
    )
    assert check_belonging(Bundle(tmp_path / "b", bundle.manifest)).ok is False


@pytest.mark.parametrize(
    ("value", "dtype", "ok"),
    [
        (-1e30, np.float32, True),
        (np.nan, np.float32, False),
        (np.inf, np.float32, False),
        (40000.0, np.float16, False),
        (1000.0, np.float16, True),
    ],
)
def test_the_scan_knows_the_sentinel_from_an_overflow(value: float, dtype: Any, ok: bool) -> None:
    array = np.ones((2, 3), dtype)
    array[1, 2] = value
    assert scan_arrays("scan", {"draft_logits": array}).ok is ok


def test_the_sentinel_is_no_value_of_a_cache() -> None:
    assert scan_arrays("scan", {"cache.0.key": np.full((1, 2), -1e30, np.float32)}).ok is False
