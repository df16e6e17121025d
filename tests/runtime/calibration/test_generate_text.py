"""Text from the target: its law, its batches, its resumption."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.support.speculative_bundle import speculative_bundle

from redraft._core.errors import RequestError, UsageError
from redraft.engines.base import Call, Engine, KVCache, Outputs
from redraft.engines.bundle import Bundle, load_engine
from redraft.runtime.calibration import CalibrationPrompt, built_in_prompts, generate_text
from redraft.runtime.decoding import CachedModel
from redraft.runtime.text import TextTokenizer

PROMPTS = [CalibrationPrompt("plain", prompt.text[:20]) for prompt in built_in_prompts()[:30]]
SETTINGS = {"num_tokens": 150, "tokens_per_prompt": 12, "batch": 4}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return speculative_bundle(tmp_path_factory.mktemp("calibration") / "b")


@pytest.fixture(scope="module")
def engine(bundle: Bundle) -> Iterator[Engine]:
    with load_engine(bundle, "target") as loaded:
        yield loaded


@pytest.fixture(scope="module")
def tokenizer(bundle: Bundle) -> TextTokenizer:
    return TextTokenizer.read(bundle.tokenizer_folder)


class Interrupting(Engine):
    """Fails at a call of that number."""

    def __init__(self, engine: Engine, calls: int) -> None:
        self._engine, self.spec, self.backend = engine, engine.spec, engine.backend
        self.calls_left = calls

    def allocate_cache(self, batch: int, capacity: int) -> KVCache:
        return self._engine.allocate_cache(batch, capacity)

    def run(self, call: Call, cache: KVCache) -> Outputs:
        if self.calls_left == 0:
            raise KeyboardInterrupt
        self.calls_left -= 1
        return self._engine.run(call, cache)

    def close(self) -> None:
        pass


def test_a_batch_writes_what_each_prompt_writes_alone(engine: Engine, tokenizer: TextTokenizer) -> None:
    together = generate_text(engine, tokenizer, PROMPTS, **SETTINGS)  # type: ignore[arg-type]
    alone = generate_text(engine, tokenizer, PROMPTS, **{**SETTINGS, "batch": 1})  # type: ignore[arg-type]
    count = min(len(together.sequences), len(alone.sequences))
    assert count > 10
    assert together.sequences[:count] == alone.sequences[:count]


def test_greedy_text_is_the_targets_own_best_token(engine: Engine, tokenizer: TextTokenizer) -> None:
    text = generate_text(engine, tokenizer, PROMPTS, **SETTINGS, temperature=0.0)  # type: ignore[arg-type]
    model = CachedModel(engine, capacity=128, context=128)
    for sequence in text.sequences[:4]:
        model.rollback(0)
        rows = model.extend(sequence.ids[:-1], num_logits=len(sequence.output_ids))
        best = rows[:, : tokenizer.info.size].argmax(axis=1)
        assert best.tolist() == list(sequence.output_ids)


def test_text_is_long_enough_ends_at_stop_tokens_and_covers_topics(
    engine: Engine, tokenizer: TextTokenizer
) -> None:
    text = generate_text(engine, tokenizer, num_tokens=200, tokens_per_prompt=20, batch=4)
    assert text.num_tokens >= 200
    assert sum(text.tokens_by_topic().values()) == text.num_tokens
    assert len(text.tokens_by_topic()) > 5
    for sequence in text.sequences:
        assert 1 <= len(sequence.output_ids) <= 20
        stops = [token in tokenizer.info.stop_ids for token in sequence.output_ids]
        assert not any(stops[:-1])
        assert max(sequence.output_ids) < tokenizer.info.size


def test_the_seed_decides_the_text(engine: Engine, tokenizer: TextTokenizer) -> None:
    texts = [
        generate_text(engine, tokenizer, PROMPTS, **SETTINGS, seed=seed)  # type: ignore[arg-type]
        for seed in (1, 1, 2)
    ]
    assert texts[0].digest == texts[1].digest != texts[2].digest


@pytest.mark.parametrize("calls", [3, 14, 20])
def test_an_interrupted_run_goes_on_and_loses_no_finished_chunk(
    engine: Engine, tokenizer: TextTokenizer, tmp_path: Path, calls: int
) -> None:
    whole = generate_text(engine, tokenizer, PROMPTS, **SETTINGS)  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        generate_text(Interrupting(engine, calls), tokenizer, PROMPTS, **SETTINGS, store=tmp_path)  # type: ignore[arg-type]
    chunks = sorted(tmp_path.iterdir())
    counter = Interrupting(engine, 10_000)
    again = generate_text(counter, tokenizer, PROMPTS, **SETTINGS, store=tmp_path)  # type: ignore[arg-type]
    assert again.digest == whole.digest
    full = Interrupting(engine, 10_000)
    generate_text(full, tokenizer, PROMPTS, **SETTINGS)  # type: ignore[arg-type]
    saved = counter.calls_left - full.calls_left
    assert saved > 0 if chunks else saved == 0


def test_a_damaged_chunk_or_one_of_other_settings_is_written_again(
    engine: Engine, tokenizer: TextTokenizer, tmp_path: Path
) -> None:
    whole = generate_text(engine, tokenizer, PROMPTS, **SETTINGS, store=tmp_path)  # type: ignore[arg-type]
    first, second, *_ = sorted(tmp_path.iterdir())
    value = json.loads(first.read_text())
    value["sequences"][0]["output_ids"][0] += 1
    first.write_text(json.dumps(value))
    second.write_text(second.read_text()[:40])
    assert generate_text(engine, tokenizer, PROMPTS, **SETTINGS, store=tmp_path).digest == whole.digest  # type: ignore[arg-type]
    other = generate_text(engine, tokenizer, PROMPTS, **SETTINGS, seed=5, store=tmp_path)  # type: ignore[arg-type]
    assert other.digest == generate_text(engine, tokenizer, PROMPTS, **SETTINGS, seed=5).digest  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "phrase"),
    [
        ({"num_tokens": 0}, "tokens is at least 1"),
        ({"tokens_per_prompt": 0}, "tokens_per_prompt is at least 1"),
        ({"batch": 0}, "batch is at least 1"),
        ({"temperature": -1.0}, "temperature is at least 0"),
        ({"tokens_per_prompt": 10_000}, "leave no room"),
        ({"temperature": 0.0, "num_tokens": 100_000}, "greedy decoding of 30 prompts"),
    ],
)
def test_bad_settings_are_refused(
    engine: Engine, tokenizer: TextTokenizer, changes: dict[str, float], phrase: str
) -> None:
    with pytest.raises(UsageError, match=phrase):
        generate_text(engine, tokenizer, PROMPTS, **{**SETTINGS, **changes})  # type: ignore[arg-type]


def test_an_empty_prompt_is_refused(engine: Engine, tokenizer: TextTokenizer) -> None:
    with pytest.raises(RequestError, match="empty"):
        generate_text(engine, tokenizer, [CalibrationPrompt("plain", "")], **SETTINGS)  # type: ignore[arg-type]


def test_held_out_text_shares_no_sequence_with_the_rest(engine: Engine, tokenizer: TextTokenizer) -> None:
    text = generate_text(engine, tokenizer, PROMPTS, **SETTINGS)  # type: ignore[arg-type]
    rest, held_out = text.split(5)
    assert len(held_out.sequences) == len(text.sequences) // 5
    assert set(rest.sequences) | set(held_out.sequences) == set(text.sequences)
    assert rest.num_tokens + held_out.num_tokens == text.num_tokens
    assert np.concatenate(list(text.outputs())).size == text.num_tokens
