"""The canonical graph, run directly, against transformers: every family and feature on tiny random models."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.graph_runner import GraphRunner
from tests.support.oracle import honour_attention_soft_cap, oracle_logits
from tests.support.tiny_checkpoints import VARIANTS, tiny_model, tiny_variant
from tests.support.tolerances import assert_close

from redraft.export import Precision, export_target
from redraft.export.checkpoint import open_checkpoint

LENGTH = 24
"""Tokens of a sequence: four times the tiny models' sliding window."""


class Exported(NamedTuple):
    """A tiny model's graph, two random sequences and the oracle's logits for them."""

    folder: Path
    ids: NDArray[np.int64]  # [2, LENGTH]
    logits: NDArray[np.float32]  # [2, LENGTH, T]
    model: Any


@pytest.fixture(scope="module", params=list(VARIANTS))
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    """Each variant in turn, exported in fp32 with its hidden states."""
    root = tmp_path_factory.mktemp(request.param)
    family, overrides = VARIANTS[request.param]
    checkpoint = open_checkpoint(str(tiny_variant(request.param, root / "model")))
    export_target(checkpoint, root / "graph", Precision(), outputs=("hidden",))
    model = tiny_model(family, **overrides)
    ids = np.random.default_rng(5).integers(3, 290, (2, LENGTH))
    with pytest.MonkeyPatch.context() as patch:
        if cap := overrides.get("attn_logit_softcapping"):
            honour_attention_soft_cap(patch, cap)
        logits = oracle_logits(model, ids)
    return Exported(root / "graph", ids, logits, model)


def test_prefill_gives_the_oracles_logits(exported: Exported) -> None:
    runner = GraphRunner(exported.folder, batch=2)
    assert_close(runner.run(exported.ids, [0, 0])["logits"], exported.logits)


def test_one_token_at_a_time_gives_the_oracles_logits(exported: Exported) -> None:
    runner = GraphRunner(exported.folder)
    for position in range(LENGTH):
        logits = runner.run(exported.ids[:1, position : position + 1], [position])["logits"]
        assert_close(logits[0, 0], exported.logits[0, position])


def test_blocks_on_a_warm_cache_give_the_oracles_logits(exported: Exported) -> None:
    runner = GraphRunner(exported.folder)
    start = 0
    for width in (7, 5, 1, 8, 3):
        logits = runner.run(exported.ids[:1, start : start + width], [start])["logits"]
        assert_close(logits[0], exported.logits[0, start : start + width])
        start += width
    assert start == LENGTH


def test_ragged_rows_give_the_oracles_logits(exported: Exported) -> None:
    runner = GraphRunner(exported.folder, batch=2)
    runner.run(exported.ids[:, :13], [0, 0])
    lengths = [4, 13]  # row 0 rolled back to 4 tokens
    block = np.stack([exported.ids[row, length : length + 6] for row, length in enumerate(lengths)])
    logits = runner.run(block, lengths)["logits"]
    for row, length in enumerate(lengths):
        assert_close(logits[row], exported.logits[row, length : length + 6])


def test_rejected_tokens_leave_no_trace(exported: Exported) -> None:
    runner, clean = GraphRunner(exported.folder), GraphRunner(exported.folder)
    runner.run(exported.ids[:1, :8], [0])
    clean.run(exported.ids[:1, :8], [0])
    runner.run(exported.ids[1:, 8:14], [8])  # six tokens of another sequence, all rejected
    after = runner.run(exported.ids[:1, 8:12], [8])["logits"]
    np.testing.assert_array_equal(after, clean.run(exported.ids[:1, 8:12], [8])["logits"])


def test_logit_rows_pick_the_asked_rows_in_the_asked_order(exported: Exported) -> None:
    rows = np.array([[5, 0, 9], [2, 2, 11]])
    outputs = GraphRunner(exported.folder, batch=2).run(exported.ids[:, :12], [0, 0], rows)
    expected = np.stack([exported.logits[row, picked] for row, picked in enumerate(rows)])
    assert_close(outputs["logits"], expected)
    assert outputs["hidden"].shape == (2, 3, exported.model.config.hidden_size)


def test_hidden_is_the_heads_input(exported: Exported) -> None:
    import torch

    hidden = GraphRunner(exported.folder).run(exported.ids[:1], [0])["hidden"]
    with torch.no_grad():
        logits = exported.model.lm_head(torch.tensor(hidden)).numpy()
    if cap := getattr(exported.model.config, "final_logit_softcapping", None):
        logits = cap * np.tanh(logits / cap)
    assert_close(logits[0], exported.logits[0])
