"""The engine cache: one build per key, published whole, listed, pruned."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.canonical_graph import TinyDecoder, write_tiny

from redraft._core.errors import InputFileError, RedraftError, UnavailableError
from redraft.engines import Availability, Backend, BuildReport, Engine, LoadOptions, Profile, get_backend
from redraft.engines.cache import EngineStore, build_cached, default_store, engine_key, graph_digest


class CountingBackend(Backend):
    """Writes one small file, and counts."""

    name = "counting"

    def __init__(
        self, *, version: str = "1", available: bool = True, fails: bool = False, wait: float = 0.0
    ) -> None:
        self.builds = 0
        self._found = Availability(available, "" if available else "it is switched off", None, version)
        self._fails, self._wait = fails, wait

    def availability(self) -> Availability:
        return self._found

    def build(self, graph: Path, output: Path, profile: Profile) -> BuildReport:
        self.builds += 1
        (output / "plan").write_bytes(b"x" * 1000)
        time.sleep(self._wait)
        if self._fails:
            raise RedraftError("the build broke")
        return BuildReport(self.name, "1", ("plan",), 0.1)

    def load(self, folder: Path, options: LoadOptions) -> Engine:
        raise NotImplementedError


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    write_tiny(tmp_path / "graph", TinyDecoder())
    return tmp_path / "graph"


def test_the_second_build_is_reused(graph: Path, tmp_path: Path) -> None:
    backend = CountingBackend()
    first = build_cached(backend, graph, Profile(), tmp_path / "cache", "ab" * 8)
    second = build_cached(backend, graph, Profile(), tmp_path / "cache", "ab" * 8)
    assert (first.reused, second.reused, backend.builds) == (False, True, 1)
    assert first.path == second.path == tmp_path / "cache/counting" / ("ab" * 8)
    assert first.report == second.report


def test_concurrent_builders_build_once(graph: Path, tmp_path: Path) -> None:
    backend = CountingBackend(wait=0.2)
    results: list[Any] = []
    workers = [
        threading.Thread(
            target=lambda: results.append(
                build_cached(backend, graph, Profile(), tmp_path / "cache", "cd" * 8)
            )
        )
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert backend.builds == 1
    assert sorted(result.reused for result in results) == [False, True, True, True]


def test_a_failed_build_publishes_nothing(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(RedraftError, match="the build broke"):
        build_cached(CountingBackend(fails=True), graph, Profile(), tmp_path / "cache", "ef" * 8)
    assert [path for path in (tmp_path / "cache/counting").iterdir() if path.is_dir()] == []
    assert EngineStore(tmp_path / "cache").entries() == []


def test_a_backend_that_does_not_work_builds_nothing(graph: Path, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="backend 'counting': it is switched off"):
        build_cached(CountingBackend(available=False), graph, Profile(), tmp_path / "cache", "ef" * 8)
    assert not (tmp_path / "cache").exists()


def test_an_engine_that_lost_a_file_is_built_again(graph: Path, tmp_path: Path) -> None:
    backend = CountingBackend()
    built = build_cached(backend, graph, Profile(), tmp_path / "cache", "ab" * 8)
    (built.path / "plan").unlink()
    assert not build_cached(backend, graph, Profile(), tmp_path / "cache", "ab" * 8).reused
    assert backend.builds == 2


def test_the_key_changes_with_everything_that_can_change_the_engine(graph: Path, tmp_path: Path) -> None:
    base = graph_digest(graph)
    keys = {engine_key(base, CountingBackend(), Profile())}
    keys.add(engine_key(base, CountingBackend(version="2"), Profile()))
    keys.add(engine_key(base, CountingBackend(), replace(Profile(), capacity=4096)))
    keys.add(engine_key(base, get_backend("ort-cpu"), Profile()))
    (graph / "model.onnx").write_bytes((graph / "model.onnx").read_bytes() + b"\0")
    keys.add(engine_key(graph_digest(graph), CountingBackend(), Profile()))
    assert len(keys) == 5
    assert engine_key(base, CountingBackend(), Profile()) in keys


def test_the_ort_cpu_key_depends_on_the_passes_and_not_on_the_profile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend, other = get_backend("ort-cpu"), replace(Profile(), capacity=4096)
    key = engine_key("0" * 64, backend, Profile())
    assert engine_key("0" * 64, backend, other) == key
    monkeypatch.setattr("redraft.engines.lowering.PASSES_VERSION", -1)
    assert engine_key("0" * 64, backend, Profile()) != key


def test_a_graph_without_data_has_no_digest(graph: Path) -> None:
    (graph / "model.onnx.data").unlink()
    with pytest.raises(InputFileError, match=r"model\.onnx\.data is missing"):
        graph_digest(graph)


def test_entries_are_listed_pruned_by_age_and_size_and_cleared(graph: Path, tmp_path: Path) -> None:
    store, backend = EngineStore(tmp_path / "cache"), CountingBackend()
    for age, key in enumerate(("aa" * 8, "bb" * 8, "cc" * 8)):
        built = build_cached(backend, graph, Profile(), store.root, key)
        stamp = time.time() - (10 - age) * 86400
        os.utime(built.path / "build.json", (stamp, stamp))
    entries = store.entries()
    assert [entry.key[:2] for entry in entries] == ["aa", "bb", "cc"]
    assert all(entry.num_bytes > 1000 and entry.backend == "counting" for entry in entries)
    assert [entry.key[:2] for entry in store.prune(unused_days=9.5)] == ["aa"]
    assert [entry.key[:2] for entry in store.prune(max_bytes=entries[2].num_bytes)] == ["bb"]
    assert store.prune() == []
    assert [entry.key[:2] for entry in store.clear()] == ["cc"]
    assert store.entries() == []


def test_reuse_counts_as_use(graph: Path, tmp_path: Path) -> None:
    store, backend = EngineStore(tmp_path / "cache"), CountingBackend()
    built = build_cached(backend, graph, Profile(), store.root, "aa" * 8)
    os.utime(built.path / "build.json", (1.0, 1.0))
    build_cached(backend, graph, Profile(), store.root, "aa" * 8)
    assert store.prune(unused_days=1) == []


def test_the_default_store_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_store().root == tmp_path / "redraft" / "engines"
