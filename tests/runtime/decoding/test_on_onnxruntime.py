"""The loop on a real engine: greedy equality, caches after rejections."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.support.array_checkpoint import ArrayCheckpoint, tiny_config

from redraft.engines import LoadOptions, Profile, get_backend
from redraft.engines.base import Engine
from redraft.export import Precision, export_target
from redraft.runtime.decoding import (
    CachedModel,
    Decoder,
    GenerationRequest,
    RandomSource,
    WarpParams,
    compare_runs,
)

BACKEND = get_backend("ort-cpu")
pytestmark = pytest.mark.skipif(not BACKEND.availability().ok, reason=BACKEND.availability().reason)
GREEDY = WarpParams(temperature=0)
PROMPTS = ((3,), (5, 9, 2, 40, 17), tuple(range(1, 24)))


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Engine]]:
    """A random target and its int4 copy as the drafter."""
    checkpoint = ArrayCheckpoint.random(tiny_config(max_positions=128))
    loaded = []
    for name in ("fp32", "int4"):
        folder: Path = tmp_path_factory.mktemp(name)
        (folder / "engine").mkdir()
        export_target(checkpoint, folder / "graph", Precision.parse(name))
        BACKEND.build(folder / "graph", folder / "engine", Profile(capacity=128))
        loaded.append(BACKEND.load(folder / "engine", LoadOptions(threads=1)))
    yield loaded[0], loaded[1]
    for engine in loaded:
        engine.close()


def decode(decoder: Decoder, request: GenerationRequest, **options: object) -> list[int]:
    return [token for tokens in decoder.decode(request, **options) for token in tokens]  # type: ignore[arg-type]


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("num_drafts", [1, 3, 5])
def test_greedy_is_equal_token_for_token_in_deterministic_mode(
    engines: tuple[Engine, Engine], prompt: tuple[int, ...], num_drafts: int
) -> None:
    decoder = Decoder(*engines, num_speculative_tokens=num_drafts, deterministic=True, context=100)
    request = GenerationRequest(prompt, GREEDY, max_tokens=60)
    generation = decoder.generation(request)
    while generation.finish_reason is None:
        generation.step()
    assert 0 < generation.stats.acceptance_rate < 1
    assert generation.output_ids == decode(decoder, request, speculative=False)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_diverges_only_at_near_ties_in_the_default_mode(
    engines: tuple[Engine, Engine], prompt: tuple[int, ...]
) -> None:
    decoder = Decoder(*engines, num_speculative_tokens=4, context=100)
    request = GenerationRequest(prompt, GREEDY, max_tokens=60)
    plain, speculative = decode(decoder, request, speculative=False), decode(decoder, request)
    found = compare_runs(decoder, prompt, plain, speculative)
    assert found is None or found.is_near_tie


def test_a_seeded_text_is_the_same_again(engines: tuple[Engine, Engine]) -> None:
    decoder = Decoder(*engines, num_speculative_tokens=4, context=100)
    request = GenerationRequest(PROMPTS[1], WarpParams(temperature=0.9, top_p=0.9), max_tokens=50)
    first = decode(decoder, request, source=RandomSource(5))
    assert decode(decoder, request, source=RandomSource(5)) == first


def caches(model: CachedModel, length: int) -> list[np.ndarray]:
    layers = range(model.engine.spec.num_layers)
    return [array[:, :, :length].copy() for layer in layers for array in model.cache.read(layer)]


@pytest.mark.parametrize("num_kept", [1, 2, 3, 4, 5])
def test_rejected_rows_leave_no_trace_in_the_kept_prefix(
    engines: tuple[Engine, Engine], num_kept: int
) -> None:
    tokens, following = list(PROMPTS[1]), [8, 21, 30, 4, 11]
    kept = len(tokens) + num_kept
    seen = []
    for junk in (1, 33):  # what the rejected rows hold must not matter, bit for bit
        model = CachedModel(engines[0], capacity=64, context=60)
        model.prefill(tokens)
        before = caches(model, len(tokens))
        model.extend([*following[:num_kept], *[junk] * (5 - num_kept)], num_logits=5)
        model.rollback(kept)
        for one, other in zip(before, caches(model, len(tokens)), strict=True):
            np.testing.assert_array_equal(one, other)
        logits = model.extend([7]).copy()
        seen.append([*caches(model, kept + 1), logits])
    for one, other in zip(*seen, strict=True):
        np.testing.assert_array_equal(one, other)
    fresh = CachedModel(engines[0], capacity=64, context=60)
    logits = fresh.extend([*tokens, *following[:num_kept], 7])
    for one, other in zip(seen[0], [*caches(fresh, kept + 1), logits], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
