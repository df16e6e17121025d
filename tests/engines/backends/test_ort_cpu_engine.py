"""OrtCpuEngine: the cache in place, rollback, widths, ragged rows, refusals, threads, memory."""

from __future__ import annotations

import gc
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.canonical_graph import TinyDecoder, write_tiny
from tests.support.engine_calls import build_lowered, load, make_call
from tests.support.tolerances import assert_close

from redraft._core.errors import InputFileError, MismatchError, RedraftError, UnsupportedError, UsageError
from redraft.engines import Call, LoadOptions, Profile
from redraft.engines.backends.ort_cpu import OrtCpuBackend, OrtCpuEngine
from redraft.engines.backends.ort_cpu.call_checks import call_form

CONFIG = TinyDecoder(windows=(5, None))
N = 48


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same graph lowered, and as it is."""
    root = tmp_path_factory.mktemp("engines")
    write_tiny(root / "canonical", CONFIG)
    return {"lowered": build_lowered(root / "canonical", root / "lowered"), "canonical": root / "canonical"}


@pytest.fixture(params=["lowered", "canonical"])
def engine(request: pytest.FixtureRequest, folders: dict[str, Path]) -> Any:
    with load(folders[request.param]) as opened:
        yield opened


def tokens(seed: int, batch: int, length: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, CONFIG.rows, (batch, length))


def logits(engine: OrtCpuEngine, cache: Any, ids: Any, write_pos: list[int]) -> NDArray[np.float32]:
    result: NDArray[np.float32] = engine.run(make_call(ids, write_pos), cache)["logits"].copy()
    return result


def kept(cache: Any, length: int) -> list[NDArray[Any]]:
    return [part[:, :, :length] for layer in range(CONFIG.num_layers) for part in cache.read(layer)]


def test_prefill_in_chunks_and_token_by_token_agree_with_one_call(engine: OrtCpuEngine) -> None:
    ids = tokens(0, 1, 20)
    whole = logits(engine, engine.allocate_cache(1, N), ids, [0])
    for widths in ([8, 8, 4], [1] * 20, [13, 1, 6]):
        cache, start, parts = engine.allocate_cache(1, N), 0, []
        for width in widths:
            parts.append(logits(engine, cache, ids[:, start : start + width], [start]))
            start += width
        assert_close(np.concatenate(parts, axis=1), whole)


@pytest.mark.parametrize("rejected", range(6))
def test_a_rejected_block_leaves_no_trace(engine: OrtCpuEngine, rejected: int) -> None:
    prompt, draft, new = tokens(1, 1, 9), tokens(2, 1, 6), tokens(3, 1, 6)
    with_draft, without = engine.allocate_cache(1, N), engine.allocate_cache(1, N)
    accepted = 6 - rejected
    results = []
    for cache, block in ((with_draft, draft), (without, draft[:, :accepted])):
        logits(engine, cache, prompt, [0])
        if block.size:
            logits(engine, cache, block, [9])
        results.append(kept(cache, 9 + accepted))
    for a, b in zip(*results, strict=True):
        assert_close(a, b)
    again = engine.allocate_cache(1, N)
    logits(engine, again, prompt, [0])
    logits(engine, again, draft, [9])
    first = logits(engine, with_draft, new, [9 + accepted])
    assert np.array_equal(first, logits(engine, again, new, [9 + accepted]))
    assert_close(first, logits(engine, without, new, [9 + accepted]))


def test_the_same_calls_without_the_rejected_rows_keep_the_prefix_bit_for_bit(engine: OrtCpuEngine) -> None:
    prompt, draft = tokens(1, 1, 9), tokens(2, 1, 6)
    cache = engine.allocate_cache(1, N)
    logits(engine, cache, prompt, [0])
    before = kept(cache, 9)
    logits(engine, cache, draft, [9])
    for a, b in zip(before, kept(cache, 9), strict=True):
        assert np.array_equal(a, b)


def test_what_lies_beyond_the_used_slots_is_never_read(engine: OrtCpuEngine) -> None:
    prompt, block = tokens(1, 1, 9), tokens(2, 1, 4)
    clean, dirty = engine.allocate_cache(1, N), engine.allocate_cache(1, N)
    for array in dirty.arrays.values():
        array[...] = 7.0
    for cache in (clean, dirty):
        logits(engine, cache, prompt, [0])
    assert np.array_equal(logits(engine, clean, block, [9]), logits(engine, dirty, block, [9]))


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_each_row_of_a_ragged_batch_equals_running_it_alone(folders: dict[str, Path], data: Any) -> None:
    batch = data.draw(st.integers(2, 3))
    starts = data.draw(st.lists(st.integers(0, 20), min_size=batch, max_size=batch))
    width = data.draw(st.integers(1, 6))
    with load(folders["lowered"]) as engine:
        together = engine.allocate_cache(batch, N)
        prompts = tokens(4, batch, 20)
        logits(engine, together, prompts, [0] * batch)
        block = tokens(5, batch, width)
        result = logits(engine, together, block, starts)
        for row in range(batch):
            alone = engine.allocate_cache(1, N)
            logits(engine, alone, prompts[row : row + 1], [0])
            assert_close(result[row : row + 1], logits(engine, alone, block[row : row + 1], [starts[row]]))


def test_a_sliding_layer_sees_exactly_its_window(tmp_path: Path) -> None:
    config = replace(CONFIG, num_layers=1, windows=(5,))
    write_tiny(tmp_path / "graph", config)
    with load(build_lowered(tmp_path / "graph", tmp_path / "engine")) as engine:
        ids = tokens(6, 1, 12)
        base = logits(engine, engine.allocate_cache(1, N), ids, [0])[0, 11]
        for position in range(12):
            changed = ids.copy()
            changed[0, position] = (changed[0, position] + 1) % config.rows
            same = np.array_equal(logits(engine, engine.allocate_cache(1, N), changed, [0])[0, 11], base)
            assert same == (position < 7), position


def test_the_last_slot_can_be_used_and_the_next_cannot(engine: OrtCpuEngine) -> None:
    cache = engine.allocate_cache(1, 10)
    logits(engine, cache, tokens(0, 1, 6), [0])
    logits(engine, cache, tokens(0, 1, 4), [6])
    with pytest.raises(RedraftError, match="4 tokens from slot 7 do not fit into a cache of 10 slots"):
        logits(engine, cache, tokens(0, 1, 4), [7])


def test_logit_rows_choose_rows(engine: OrtCpuEngine) -> None:
    ids, rows = tokens(0, 2, 6), np.array([[5, 0], [3, 3]])
    whole = logits(engine, engine.allocate_cache(2, N), ids, [0, 0])
    call = make_call(ids, [0, 0])
    call.logit_rows = rows
    out = engine.run(call, engine.allocate_cache(2, N))
    assert out["hidden"].shape == (2, 2, CONFIG.hidden_size)
    assert_close(out["logits"], np.take_along_axis(whole, rows[:, :, None], 1))


def test_outputs_are_views_that_the_next_call_of_the_shape_overwrites(engine: OrtCpuEngine) -> None:
    cache = engine.allocate_cache(1, N)
    first = engine.run(make_call(tokens(0, 1, 3), [0]), cache)["logits"]
    copy = first.copy()
    other = engine.run(make_call(tokens(1, 1, 4), [3]), cache)["logits"]
    assert np.array_equal(first, copy)
    assert not np.shares_memory(first, other)
    assert engine.run(make_call(tokens(2, 1, 3), [7]), cache)["logits"] is first


BAD_CALLS = {
    "input_ids' *: expected int64": lambda c: replace_ids(c, c.input_ids.astype(np.int32)),
    "position_ids' *: expected int64 .B, S.": lambda c: setattr(c, "position_ids", c.position_ids[:, :-1]),
    "write_pos' *: expected int64 .B.": lambda c: setattr(c, "write_pos", np.array([0, 0])),
    r"input_ids' *: expected values in .0, 128., got 128": lambda c: c.input_ids.__setitem__((0, 0), 128),
    r"input_ids' *: expected values in .0, 128., got -1": lambda c: c.input_ids.__setitem__((0, 0), -1),
    r"position_ids' *: expected values in .0, 256., got 256": lambda c: c.position_ids.__setitem__(
        (0, 0), 256
    ),
    r"logit_rows' *: expected values in .0, 4., got 4": lambda c: c.logit_rows.__setitem__((0, 0), 4),
    r"write_pos' *: expected slots from 0, got -1": lambda c: c.write_pos.__setitem__(0, -1),
    "at least one token": lambda c: setattr(c, "logit_rows", np.zeros((1, 0), np.int64)),
}


def replace_ids(call: Call, ids: Any) -> None:
    call.input_ids = ids


@pytest.mark.parametrize("phrase", BAD_CALLS)
def test_a_wrong_call_is_refused_in_one_sentence(engine: OrtCpuEngine, phrase: str) -> None:
    call = make_call(tokens(0, 1, 4), [0])
    BAD_CALLS[phrase](call)
    with pytest.raises(
        RedraftError, match=f"^engine 'target' input '?.*{phrase}" if "'" in phrase else phrase
    ):
        engine.run(call, engine.allocate_cache(1, N))


def test_caches_belong_to_their_engine_and_closed_engines_refuse(folders: dict[str, Path]) -> None:
    one, two = load(folders["lowered"]), load(folders["lowered"])
    cache = one.allocate_cache(1, N)
    with pytest.raises(MismatchError, match="another engine"):
        two.run(make_call(tokens(0, 1, 2), [0]), cache)
    with pytest.raises(UsageError, match="at least 1 row"):
        two.allocate_cache(0, N)
    one.close()
    one.close()
    two.close()
    with pytest.raises(RedraftError, match="is closed"):
        one.run(make_call(tokens(0, 1, 2), [0]), cache)


def test_threads_are_checked(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="threads: expected at least 1, got 0"):
        OrtCpuBackend().load(folders["lowered"], LoadOptions(threads=0))


def test_two_threads_with_two_engines_and_one_engine_shared_get_their_own_results(
    folders: dict[str, Path],
) -> None:
    with load(folders["lowered"]) as shared, load(folders["canonical"]) as other:
        engines = [shared, shared, other, other]
        scripts = [tokens(10 + i, 1, 30) for i in range(4)]

        def decode(engine: OrtCpuEngine, ids: NDArray[np.int64]) -> list[NDArray[np.float32]]:
            cache = engine.allocate_cache(1, N)
            return [logits(engine, cache, ids[:, i : i + 1], [i]) for i in range(30)]

        expected = [decode(e, ids) for e, ids in zip(engines, scripts, strict=True)]
        results: dict[int, list[NDArray[np.float32]]] = {}

        def work(index: int) -> None:
            results[index] = decode(engines[index], scripts[index])

        workers = [threading.Thread(target=work, args=(index,)) for index in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for index in range(4):
            assert all(np.array_equal(a, b) for a, b in zip(results[index], expected[index], strict=True))


def test_opening_and_closing_gives_the_memory_back(tmp_path: Path) -> None:
    big = TinyDecoder(rows=4096, hidden_size=512, intermediate_size=2048)  # 34 MB of weights
    write_tiny(tmp_path / "graph", big)
    folder = build_lowered(tmp_path / "graph", tmp_path / "engine")
    call = make_call(np.zeros((1, 8), np.int64), [0])

    def open_and_close() -> int:
        with load(folder) as engine:
            engine.run(call, engine.allocate_cache(1, 512))
        gc.collect()
        return int(psutil.Process().memory_info().rss)

    open_and_close()
    baseline = open_and_close()
    for _ in range(5):
        last = open_and_close()
    assert last - baseline < 10e6


def test_bindings_of_many_widths_do_not_pile_up(engine: OrtCpuEngine) -> None:
    cache = engine.allocate_cache(1, 80)
    for width in range(1, 70):
        logits(engine, cache, tokens(0, 1, width), [0])
    assert len(cache._bindings) < 60


def test_a_call_costs_little_outside_onnxruntime(folders: dict[str, Path]) -> None:
    with load(folders["lowered"]) as engine:
        cache, call = engine.allocate_cache(1, N), make_call(tokens(0, 1, 1), [3])
        engine.run(call, cache)
        binding = cache.find_binding(call_form(call))
        assert binding is not None
        whole, bare = [], []
        for _ in range(300):
            start = time.perf_counter()
            engine.run(call, cache)
            middle = time.perf_counter()
            binding._session.run_with_iobinding(binding._binding, None)
            whole.append(middle - start)
            bare.append(time.perf_counter() - middle)
    assert min(whole) - min(bare) < 200e-6


@pytest.mark.parametrize("name", ["model.onnx", "model.onnx.data"])
@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_a_damaged_engine_is_refused_in_one_sentence(
    folders: dict[str, Path], tmp_path: Path, name: str, damage: str
) -> None:
    for file in folders["lowered"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / name
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputFileError) as caught:
        load(tmp_path)
    assert "\n" not in caught.value.message
    assert "redraft build" in (caught.value.hint or "")


def test_a_bfloat16_graph_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    spec = write_tiny(tmp_path, CONFIG)
    import json

    changed = replace(spec, precision={"body": "bf16", "compute": "bf16"}, cache_dtype="bfloat16")
    (tmp_path / "graph.json").write_text(json.dumps(changed.to_json()))
    for action in (
        lambda: OrtCpuBackend().build(tmp_path, tmp_path / "out", Profile()),
        lambda: load(tmp_path),
    ):
        with pytest.raises(UnsupportedError, match="no bfloat16 arithmetic"):
            action()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["model.onnx", "model.onnx.data", "graph.json"])
@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_a_damaged_graph_is_refused_by_the_build_in_one_sentence(
    folders: dict[str, Path], tmp_path: Path, name: str, damage: str
) -> None:
    graph = tmp_path / "graph"
    graph.mkdir()
    for file in folders["canonical"].iterdir():
        (graph / file.name).write_bytes(file.read_bytes())
    path = graph / name
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputFileError) as caught:
        build_lowered(graph, tmp_path / "engine")
    assert "\n" not in caught.value.message
    assert "redraft export" in (caught.value.hint or "")
