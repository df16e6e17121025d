"""The benchmarks' own parts: the folder that peers read, rates, bars."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks.bars import Bar, describe, describe_bars
from benchmarks.peers.contestants import Contestant
from benchmarks.peers.hf_folder import write_hf_folder
from benchmarks.peers.running import Running, WorkerError, rate

from redraft._core.errors import UnsupportedError
from redraft.export.checkpoint import open_checkpoint


@pytest.mark.parametrize("variant", ["llama-tied", "llama"])
def test_the_peers_folder_holds_the_checkpoints_own_tensors(
    tiny_folder: Callable[[str], Path], tmp_path: Path, variant: str
) -> None:
    source = open_checkpoint(str(tiny_folder(variant)))
    written = open_checkpoint(str(write_hf_folder(source, tmp_path / "hf")))
    assert written.config == source.config
    assert sorted(written.names()) == sorted(source.names())
    for name in source.names():
        np.testing.assert_array_equal(written.load(name), source.load(name))


def test_a_model_that_the_peers_folder_cannot_hold_is_refused(
    tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    with pytest.raises(UnsupportedError, match="rope scaling"):
        write_hf_folder(open_checkpoint(str(tiny_folder("llama3"))), tmp_path / "hf")
    with pytest.raises(UnsupportedError, match="qwen3"):
        write_hf_folder(open_checkpoint(str(tiny_folder("qwen3"))), tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


def test_the_rate_leaves_the_first_step_out() -> None:
    assert rate({"times": [(2.0, 3), (2.5, 5), (3.0, 8)]}) == pytest.approx(5.0)


def test_a_contestant_says_what_is_missing() -> None:
    assert Contestant("x", "genai", ("surely_not_installed",), True, dict).missing == (
        "not installed: surely_not_installed (pip install 'redraft[peers]')"
    )
    assert Contestant("x", "redraft", (), True, dict).missing is None


def test_a_worker_that_cannot_load_says_why(tmp_path: Path) -> None:
    broken = Contestant("x", "redraft", (), True, lambda: {"engine": str(tmp_path)})
    with pytest.raises(WorkerError, match=r"graph\.json"):
        Running(broken, 1)


def test_bars_compare_what_was_measured() -> None:
    rates = {"a": 30.0, "b": 20.0}
    met, missed = describe_bars([Bar("a", "b", 1.4), Bar("a", "b", 2.0), Bar("a", "c", 1.0)], rates)
    assert met["met"]
    assert met["value"] == pytest.approx(1.5)
    assert not missed["met"]
    assert missed["sentence"] == "a / b: 1.5, at least 2: missed by 25%"
    assert describe("memory", 1.1, 1.15, at_most=True)["met"]
