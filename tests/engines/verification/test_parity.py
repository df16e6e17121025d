"""Parity checks agree with good artefacts of every family and refuse wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.oracle import honour_attention_soft_cap, oracle_logits
from tests.support.tiny_checkpoints import VARIANTS
from tests.support.tolerances import assert_close

from redraft.engines import LoadOptions, Profile, get_backend
from redraft.engines.verification import check_engine, check_graph, reference_forward
from redraft.export import Precision, export_target
from redraft.export.checkpoint import Checkpoint, open_checkpoint

IDS = np.random.default_rng(0).integers(3, 280, 40).tolist()


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_reference_forward_is_the_model(
    tiny_folder: Callable[[str], Path], variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoModelForCausalLM

    folder = tiny_folder(variant)
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    checkpoint = open_checkpoint(str(folder))
    if checkpoint.config.attention_soft_cap is not None:
        honour_attention_soft_cap(monkeypatch, checkpoint.config.attention_soft_cap)
    ids = np.array(IDS)
    logits, hidden = reference_forward(checkpoint, ids, dtype=np.float64)
    assert hidden.shape == (len(IDS), checkpoint.config.hidden_size)
    assert_close(logits, oracle_logits(model, ids[None])[0])


@pytest.mark.parametrize("precision", ["fp32", "int4"])
@pytest.mark.parametrize("variant", ["llama-biased", "gemma3-capped", "qwen3-yarn"])
def test_a_graph_and_its_engine_pass(
    tiny_folder: Callable[[str], Path], tmp_path: Path, variant: str, precision: str
) -> None:
    checkpoint = open_checkpoint(str(tiny_folder(variant)))
    export_target(checkpoint, tmp_path / "graph", Precision.parse(precision), outputs=("hidden",))
    graph = check_graph(tmp_path / "graph", checkpoint, IDS)
    assert graph.ok, graph.sentence
    assert graph.figures["max_abs_error"] < 1e-4
    (tmp_path / "engine").mkdir()
    backend = get_backend("ort-cpu")
    backend.build(tmp_path / "graph", tmp_path / "engine", Profile(capacity=128))
    with backend.load(tmp_path / "engine", LoadOptions(threads=1)) as engine:
        checks = check_engine(engine, tmp_path / "graph", IDS, max_width=9)
    assert [check.ok for check in checks] == [True, True], checks


class _Changed(Checkpoint):
    """A checkpoint in which one tensor is slightly off, or one field of the config."""

    def __init__(self, checkpoint: Checkpoint, tensor: str = "", **fields: object) -> None:
        self._checkpoint, self._tensor = checkpoint, tensor
        self.config = replace(checkpoint.config, **fields)  # type: ignore[arg-type]
        self.source = checkpoint.source

    def names(self) -> list[str]:
        return self._checkpoint.names()

    def load(self, name: str) -> np.ndarray:
        return self._checkpoint.load(name) * np.float32(1.01 if name == self._tensor else 1.0)

    def write_tokenizer(self, folder: Path) -> None:
        self._checkpoint.write_tokenizer(folder)


@pytest.mark.parametrize(
    ("tensor", "fields"),
    [
        ("layers.1.k.weight", {}),
        ("final_norm.weight", {}),
        ("", {"norm_eps": 1e-2}),
        ("", {"attention_scale": 0.2}),
        ("", {"activation": "gelu"}),
    ],
)
def test_a_graph_of_other_weights_or_another_config_fails(
    tiny_folder: Callable[[str], Path], tmp_path: Path, tensor: str, fields: dict[str, object]
) -> None:
    checkpoint = open_checkpoint(str(tiny_folder("llama")))
    export_target(checkpoint, tmp_path / "graph", Precision())
    check = check_graph(tmp_path / "graph", _Changed(checkpoint, tensor, **fields), IDS)
    assert check.ok is False, check.sentence


def test_an_engine_of_another_model_fails(tiny_folder: Callable[[str], Path], tmp_path: Path) -> None:
    export_target(open_checkpoint(str(tiny_folder("llama"))), tmp_path / "graph", Precision())
    other = _Changed(open_checkpoint(str(tiny_folder("llama"))), "layers.0.up.weight")
    export_target(other, tmp_path / "other", Precision())
    (tmp_path / "engine").mkdir()
    backend = get_backend("ort-cpu")
    backend.build(tmp_path / "other", tmp_path / "engine", Profile(capacity=128))
    with backend.load(tmp_path / "engine", LoadOptions(threads=1)) as engine:
        check = check_engine(engine, tmp_path / "graph", IDS)[0]
    assert check.ok is False
