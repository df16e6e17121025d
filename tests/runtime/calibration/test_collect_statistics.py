"""The statistics pass against a direct computation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.support.tiny_checkpoints import tiny_variant

from redraft._core.errors import RedraftError, UsageError
from redraft.engines import LoadOptions, Profile, get_backend
from redraft.engines.base import Engine
from redraft.engines.verification import reference_forward
from redraft.export import Precision, export_target
from redraft.export.checkpoint import Checkpoint, open_checkpoint
from redraft.runtime.calibration import (
    CalibrationText,
    TextSequence,
    collect_statistics,
    probability_rows,
    teacher_forced,
)

NUM_TOKENS = 290


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return open_checkpoint(str(tiny_variant("llama", tmp_path_factory.mktemp("hf") / "m")))


@pytest.fixture(scope="module")
def engine(checkpoint: Checkpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with _engine(checkpoint, tmp_path_factory.mktemp("statistics"), ("hidden",)) as loaded:
        yield loaded


def _engine(checkpoint: Checkpoint, folder: Path, outputs: tuple[str, ...]) -> Engine:
    export_target(checkpoint, folder / "graph", Precision(), outputs=outputs)
    (folder / "engine").mkdir()
    backend = get_backend("ort-cpu")
    backend.build(folder / "graph", folder / "engine", Profile(capacity=128))
    return backend.load(folder / "engine", LoadOptions(threads=1))


@pytest.fixture(scope="module")
def text() -> CalibrationText:
    random = np.random.default_rng(3)
    lengths = [(1, 1), (5, 9), (20, 7), (3, 33), (17, 16)]
    draw = lambda n: tuple(int(i) for i in random.integers(3, NUM_TOKENS, n))  # noqa: E731
    return CalibrationText(tuple(TextSequence("t", draw(p), draw(o)) for p, o in lengths))


def _expected(checkpoint: Checkpoint, text: CalibrationText) -> tuple[np.ndarray, np.ndarray, list[int]]:
    rows, states, tokens = [], [], []
    for sequence in text.sequences:
        first, last = len(sequence.prompt_ids) - 1, len(sequence.ids) - 1
        logits, hidden = reference_forward(checkpoint, np.array(sequence.ids), rows=np.arange(first, last))
        rows.append(logits[:, :NUM_TOKENS].astype(np.float64))
        states.append(hidden)
        tokens += sequence.output_ids
    z = np.concatenate(rows)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True), np.concatenate(states), tokens


@pytest.mark.parametrize("chunk", [1, 8, 64])
def test_chunks_cover_exactly_the_written_tokens(
    engine: Engine, checkpoint: Checkpoint, text: CalibrationText, chunk: int
) -> None:
    rows, states, tokens = _expected(checkpoint, text)
    seen = [
        (probability_rows(part.logits, NUM_TOKENS), part.hidden.copy(), part.next_ids)  # type: ignore[union-attr]
        for part in teacher_forced(engine, text, chunk=chunk)
    ]
    assert np.concatenate([part[2] for part in seen]).tolist() == tokens
    actual = np.concatenate([part[0] for part in seen])
    np.testing.assert_allclose(actual[:, :NUM_TOKENS], rows, atol=1e-5)
    assert not actual[:, NUM_TOKENS:].any()
    np.testing.assert_allclose(np.concatenate([part[1] for part in seen]), states, atol=1e-4)


def test_statistics_are_those_of_the_rows_and_states(
    engine: Engine, checkpoint: Checkpoint, text: CalibrationText
) -> None:
    rows, states, tokens = _expected(checkpoint, text)
    found = collect_statistics(engine, text, num_tokens=NUM_TOKENS)
    assert found.rows.count == found.hidden.count == len(tokens)
    np.testing.assert_allclose(found.rows.mean[:NUM_TOKENS], rows.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.hidden.second_moment, states.T @ states / len(states), atol=1e-3)


def test_hidden_states_come_from_the_drafter_where_one_is_given(
    engine: Engine, checkpoint: Checkpoint, text: CalibrationText, tmp_path: Path
) -> None:
    class Doubled(Checkpoint):
        config, source = checkpoint.config, checkpoint.source

        def names(self) -> list[str]:
            return checkpoint.names()

        def load(self, name: str) -> np.ndarray:
            return checkpoint.load(name) * np.float32(2 if name == "final_norm.weight" else 1)

        def write_tokenizer(self, folder: Path) -> None: ...

    target = collect_statistics(engine, text, num_tokens=NUM_TOKENS)
    calls: list[tuple[int, int]] = []
    with _engine(Doubled(), tmp_path, ("hidden",)) as drafter:
        found = collect_statistics(
            engine,
            text,
            drafter=drafter,
            num_tokens=NUM_TOKENS,
            progress=lambda done, total: calls.append((done, total)),
        )
    np.testing.assert_allclose(found.hidden.second_moment, 4 * target.hidden.second_moment, rtol=1e-4)
    np.testing.assert_array_equal(found.rows.mean, target.rows.mean)
    assert calls[-1] == (2 * text.num_tokens, 2 * text.num_tokens)


def test_what_cannot_be_collected_is_refused(
    engine: Engine, checkpoint: Checkpoint, text: CalibrationText, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no text"):
        collect_statistics(engine, CalibrationText(()))
    with _engine(checkpoint, tmp_path, ()) as bare, pytest.raises(RedraftError, match="no output 'hidden'"):
        collect_statistics(bare, text)
    long = CalibrationText((TextSequence("t", (1,), (2,) * 500),))
    with pytest.raises(UsageError, match="256 positions"):
        collect_statistics(engine, long)
