"""The drafter's graph: pruned head, dropped layers, redistribution in the graph, identities and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from tests.support.array_checkpoint import ArrayCheckpoint, tiny_config
from tests.support.graph_runner import GraphRunner
from tests.support.tolerances import assert_close

from redraft._core.errors import MismatchError, RedraftError, UnsupportedError, UsageError
from redraft.export import (
    GraphSpec,
    Precision,
    drafter_body_digest,
    export_drafter,
    export_target,
    head_rows,
)
from redraft.export.config import DecoderConfig, LayerConfig, RopeConfig
from redraft.export.graph_spec import GRAPH_FILE
from redraft.rdk.prior import KINDS, RdkPrior
from redraft.rdk.redistribution import reference
from redraft.rdk.vocabulary import VocabMap

IDS = np.random.default_rng(3).integers(0, 80, (2, 9))
PRECISION = Precision.parse("int4")


def _map(rows: int = 80, num_tokens: int = 76, step: int = 3) -> VocabMap:
    """Every third token; the last rows are padding."""
    return VocabMap(np.arange(1, num_tokens, step, dtype=np.int32), rows, "tokenizer", num_tokens)


def _prior(
    kind: str, vocab_map: VocabMap, body_digest: str, hidden_size: int = 64, rank: int = 5
) -> RdkPrior:
    """A random prior of `kind`."""
    rng = np.random.default_rng(4)
    num_hot, num_cold, rows = vocab_map.num_hot, vocab_map.num_cold, vocab_map.rows
    kernel = rng.random((num_hot, rows))
    shapes: dict[str, dict[str, NDArray[np.floating]]] = {
        "tli": {},
        "shift": {"hot_shift": rng.standard_normal(num_hot)},
        "dense": {"kernel": kernel / kernel.sum(1, keepdims=True)},
        "first-order": {"factor": rng.standard_normal((rows, rank)) * 0.1},
        "bucket": {
            "state": rng.standard_normal((1, hidden_size)) * 0.1,
            "cold_log_prior": np.full(num_cold, -np.log(max(num_cold, 1))),
        },
        "low-rank": {
            "state": rng.standard_normal((rank, hidden_size)) * 0.1,
            "cold": rng.standard_normal((num_cold, rank)),
            "cold_bias": rng.standard_normal(num_cold),
            "hot_shift": rng.standard_normal(num_hot) * 0.1,
        },
    }
    scalars = {
        "dense": {"epsilon": 0.3},
        "first-order": {"epsilon": 0.3, "tau": 1.5},
        "bucket": {"log_num_cold": float(np.log(max(num_cold, 1)))},
    }
    arrays = {name: array.astype(np.float32) for name, array in shapes[kind].items()}
    return RdkPrior(kind, vocab_map.digest, body_digest, arrays, scalars.get(kind, {}))


def _export(
    folder: Path,
    *,
    kind: str = "low-rank",
    variant: str = "redistributed",
    config: DecoderConfig | None = None,
    vocab_map: VocabMap | None = None,
    precision: Precision = PRECISION,
    drop_layers: tuple[int, ...] = (),
) -> GraphSpec:
    checkpoint = ArrayCheckpoint.random(config or tiny_config(tied_head=True))
    vocab_map = vocab_map or _map()
    prior = _prior(kind, vocab_map, drafter_body_digest(checkpoint, precision, drop_layers))
    return export_drafter(
        checkpoint,
        folder,
        precision,
        vocab_map,
        prior,
        variant=variant,  # type: ignore[arg-type]
        drop_layers=drop_layers,
        outputs=("hidden",),
    )


def _run(folder: Path) -> dict[str, NDArray[np.float32]]:
    return GraphRunner(folder, batch=2).run(IDS, [0, 0])


@pytest.mark.parametrize("soft_cap", [None, 4.0])
@pytest.mark.parametrize("kind", KINDS)
def test_draft_logits_equal_the_reference_on_the_factored_outputs(
    kind: str, soft_cap: float | None, tmp_path: Path
) -> None:
    config = tiny_config(tied_head=True, logit_soft_cap=soft_cap)
    if kind == "bucket" and soft_cap:
        with pytest.raises(UnsupportedError, match="caps them softly"):
            _export(tmp_path / "graph", kind=kind, config=config)
        return
    spec = _export(tmp_path / "graph", kind=kind, config=config)
    factored = _export(tmp_path / "factored", kind=kind, config=config, variant="factored")
    outputs, parts = _run(tmp_path / "graph"), _run(tmp_path / "factored")
    vocab_map = _map()
    prior = _prior(kind, vocab_map, spec.body_digest or "")
    expected = reference(prior, vocab_map, parts["hot_logits"], parts["hidden"], soft_cap=soft_cap)
    assert_close(outputs["draft_logits"], expected)
    assert ("prior_state" in parts) == (kind in ("bucket", "low-rank"))
    if "prior_state" in parts:
        assert_close(parts["prior_state"], parts["hidden"] @ prior.arrays["state"].T)
    assert (factored.sizes["D"], factored.sizes["C"], factored.sizes["T"]) == (25, 55, 80)
    assert spec.prior_digest == factored.prior_digest == prior.digest
    assert (spec.map_digest, spec.prior_kind) == (vocab_map.digest, kind)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("precision", ["fp32", "int4", "body=int4,embedding=int8,head=int4"])
def test_hot_logits_are_the_unpruned_heads_rows(precision: str, tied: bool, tmp_path: Path) -> None:
    config = tiny_config(tied_head=tied)
    form = Precision.parse(precision)
    _export(tmp_path / "drafter", kind="tli", variant="factored", config=config, precision=form)
    export_target(ArrayCheckpoint.random(config), tmp_path / "target", form)
    logits = _run(tmp_path / "target")["logits"]
    assert_close(_run(tmp_path / "drafter")["hot_logits"], logits[..., _map().target_ids])


def test_tli_hot_entries_are_the_raw_logits_and_the_others_have_no_probability(tmp_path: Path) -> None:
    _export(tmp_path / "graph", kind="tli")
    _export(tmp_path / "factored", kind="tli", variant="factored")
    draft_logits = _run(tmp_path / "graph")["draft_logits"]
    np.testing.assert_array_equal(
        draft_logits[..., _map().target_ids], _run(tmp_path / "factored")["hot_logits"]
    )
    cold = np.setdiff1d(np.arange(80), _map().target_ids)
    assert (draft_logits[..., cold] == np.float32(-1e30)).all()


@pytest.mark.parametrize("kind", ["tli", "bucket"])
@pytest.mark.parametrize("precision", ["fp32", "int4"])
def test_identity_map_equals_the_unpruned_model_bit_for_bit(
    precision: str, kind: str, tmp_path: Path
) -> None:
    form = Precision.parse(precision)
    identity = VocabMap(np.arange(80, dtype=np.int32), 80, "tokenizer")
    spec = _export(tmp_path / "drafter", kind=kind, vocab_map=identity, precision=form)
    export_target(ArrayCheckpoint.random(tiny_config(tied_head=True)), tmp_path / "target", form)
    np.testing.assert_array_equal(
        _run(tmp_path / "drafter")["draft_logits"], _run(tmp_path / "target")["logits"]
    )
    assert spec.sizes["r"] == 0


def test_dropped_layers_equal_a_checkpoint_without_them(tmp_path: Path) -> None:
    windows = (None, 4, None)
    layers = tuple(LayerConfig(window, RopeConfig(1e4)) for window in windows)
    config = tiny_config(tied_head=True, layers=layers)
    spec = _export(tmp_path / "dropped", kind="tli", config=config, drop_layers=(1,), variant="factored")
    assert (spec.num_layers, spec.windows) == (2, (None, None))
    assert [tensor.name for tensor in spec.inputs if "local" in tensor.name] == []
    whole = ArrayCheckpoint.random(config)
    arrays = {
        name.replace("layers.2.", "layers.1."): array
        for name, array in whole.arrays.items()
        if not name.startswith("layers.1.")
    }
    short = ArrayCheckpoint(tiny_config(tied_head=True, layers=(layers[0], layers[2])), arrays)
    prior = _prior("tli", _map(), drafter_body_digest(short, PRECISION, ()))
    export_drafter(short, tmp_path / "short", PRECISION, _map(), prior, variant="factored")
    np.testing.assert_array_equal(
        _run(tmp_path / "dropped")["hot_logits"], _run(tmp_path / "short")["hot_logits"]
    )


def test_embedding_keeps_all_rows(tmp_path: Path) -> None:
    _export(tmp_path / "graph")
    shapes = {t.name: list(t.dims) for t in onnx.load(tmp_path / "graph" / GRAPH_FILE).graph.initializer}
    assert shapes["embed.q"] == [80, 64]
    assert shapes["head.q"] == [25, 64]


def test_node_is_a_model_local_function_with_logits_and_state_first(tmp_path: Path) -> None:
    _export(tmp_path / "graph")
    model = onnx.load(tmp_path / "graph" / GRAPH_FILE)
    (node,) = [node for node in model.graph.node if node.domain == "redraft"]
    assert (node.name, node.op_type) == ("rdk", "RdkRedistribute")
    assert list(node.input[:2]) == ["head", "rdk_state"]
    assert [(function.domain, function.name) for function in model.functions] == [
        ("redraft", "RdkRedistribute")
    ]


def test_body_digest_changes_with_what_changes_hidden_states_only() -> None:
    checkpoint = ArrayCheckpoint.random(tiny_config())
    base = drafter_body_digest(checkpoint, PRECISION, ())
    assert base == drafter_body_digest(checkpoint, Precision("int4", "int4", "fp32"), ())
    others = {
        drafter_body_digest(ArrayCheckpoint.random(tiny_config(), seed=1), PRECISION, ()),
        drafter_body_digest(checkpoint, Precision("int8", "int4", "int4"), ()),
        drafter_body_digest(checkpoint, Precision("int4", "int8", "int4"), ()),
        drafter_body_digest(checkpoint, Precision("int4", "int4", "int4", "fp16"), ()),
        drafter_body_digest(checkpoint, PRECISION, (0,)),
        drafter_body_digest(checkpoint, PRECISION, (1,)),
    }
    assert len(others | {base}) == 7


def test_head_rows_are_the_tied_embeddings_or_the_heads_own() -> None:
    rows = np.array([7, 2, 79], dtype=np.int32)
    for tied, name in ((True, "embed.weight"), (False, "head.weight")):
        checkpoint = ArrayCheckpoint.random(tiny_config(tied_head=tied))
        np.testing.assert_array_equal(head_rows(checkpoint, rows), checkpoint.arrays[name][rows])
    with pytest.raises(MismatchError, match="token 80, but the drafter's head has 80 rows"):
        head_rows(checkpoint, np.array([80]))


@pytest.mark.parametrize(
    ("drop_layers", "phrase"),
    [
        ((2,), "expected layers 0 to 1, got 2"),
        ((-1,), "expected layers 0 to 1, got -1"),
        ((0, 0), "named twice"),
        ((0, 1), "all 2 layers are dropped"),
    ],
)
def test_wrong_drop_layers_are_refused(drop_layers: tuple[int, ...], phrase: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=phrase):
        _export(tmp_path / "graph", drop_layers=drop_layers)
    assert not list(tmp_path.iterdir())


def test_what_does_not_belong_together_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    checkpoint = ArrayCheckpoint.random(tiny_config())
    digest = drafter_body_digest(checkpoint, PRECISION, ())
    wide, other = _map(rows=200, num_tokens=190), _map(step=2)
    cases: list[tuple[VocabMap, RdkPrior, type[RedraftError], str]] = [
        (wide, _prior("tli", wide, digest), MismatchError, "keeps token 187, but the drafter's head has 80"),
        (_map(), _prior("tli", other, digest), MismatchError, "vocabulary map"),
        (_map(), _prior("tli", _map(), "0" * 64), MismatchError, "drafter body"),
        (
            _map(),
            _prior("low-rank", _map(), digest, hidden_size=32),
            MismatchError,
            "expected E = 64, got 32",
        ),
    ]
    for vocab_map, prior, kind, phrase in cases:
        with pytest.raises(kind, match=phrase):
            export_drafter(checkpoint, tmp_path / "graph", PRECISION, vocab_map, prior)
    with pytest.raises(UsageError, match="drafter variant"):
        export_drafter(
            checkpoint,
            tmp_path / "graph",
            PRECISION,
            _map(),
            _prior("tli", _map(), digest),
            variant="dense",  # type: ignore[arg-type]
        )
    with pytest.raises(UsageError, match="expected 'hidden', got 'logits'"):
        export_target(checkpoint, tmp_path / "graph", PRECISION, outputs=("logits",))
    assert not list(tmp_path.iterdir())
