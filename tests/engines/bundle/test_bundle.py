"""Bundles: moved, damaged, mismatched, loaded."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.engine_calls import make_call
from tests.support.hand_bundle import TOKENIZER_DIGEST, make_bundle

from redraft._core.errors import InputFileError, MismatchError, UnavailableError, UsageError
from redraft.engines import LoadOptions, Profile, get_backend
from redraft.engines.bundle import Bundle, install_engine, load_engine
from redraft.rdk.vocabulary import VocabMap


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("bundles") / "tiny", drafter=True).folder


@pytest.fixture
def bundle(original: Path, tmp_path: Path) -> Bundle:
    """A copy at another place, as a user would move it."""
    shutil.copytree(original, tmp_path / "moved")
    return Bundle.open(tmp_path / "moved")


def test_a_moved_bundle_works_from_another_working_directory(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    opened = Bundle.open("moved")
    assert opened.check_files() == []
    for role in ("target", "drafter"):
        with load_engine(opened, role, options=LoadOptions(threads=1)) as engine:  # type: ignore[arg-type]
            out = engine.run(make_call([[1, 2, 3]], [0]), engine.allocate_cache(1, 8))
            assert np.isfinite(out["logits"]).all()
            assert engine.spec.role == role


def test_the_specification_of_each_part_can_be_reached(bundle: Bundle) -> None:
    assert bundle.spec("target").role == "target"
    assert bundle.spec("drafter").map_digest == bundle.manifest.map_digest


def test_a_bundle_without_drafter_says_so(tmp_path: Path) -> None:
    alone = make_bundle(tmp_path / "alone", engine=False)
    with pytest.raises(UsageError, match="has no drafter"):
        alone.spec("drafter")
    with pytest.raises(UnavailableError, match="has no ort-cpu engine for the target") as caught:
        load_engine(alone, "target")
    assert f"redraft build {alone.folder} --backend ort-cpu" in (caught.value.hint or "")


def test_a_backend_that_does_not_work_here_is_refused_with_its_reason(bundle: Bundle) -> None:
    with pytest.raises(UnavailableError, match="backend 'tensorrt': this release"):
        load_engine(bundle, "target", "tensorrt")


def test_a_truncated_file_is_found_when_the_bundle_is_opened(bundle: Bundle) -> None:
    path = bundle.folder / "target/fp32/model.onnx.data"
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(InputFileError, match=r"model\.onnx\.data has \d+ bytes, the manifest says \d+"):
        Bundle.open(bundle.folder)


def test_a_missing_file_is_found_when_the_bundle_is_opened(bundle: Bundle) -> None:
    (bundle.folder / "vocab_map.safetensors").unlink()
    with pytest.raises(InputFileError, match=r"vocab_map\.safetensors is missing"):
        Bundle.open(bundle.folder)


def test_a_changed_byte_is_found_by_the_full_check_only(bundle: Bundle) -> None:
    path = bundle.folder / "target/fp32/model.onnx.data"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    problems = Bundle.open(bundle.folder).check_files()
    assert [problem.path for problem in problems] == ["target/fp32/model.onnx.data"]
    assert "another content" in problems[0].reason


def test_another_map_of_the_same_size_is_refused(bundle: Bundle) -> None:
    old = VocabMap.load(bundle.vocab_map_file)
    other = VocabMap(old.target_ids + np.int32(1), old.rows, TOKENIZER_DIGEST)
    other.save(bundle.vocab_map_file)
    with pytest.raises(MismatchError, match=r"vocab_map\.safetensors has digest .*was made for"):
        load_engine(Bundle.open(bundle.folder), "drafter")


@pytest.mark.parametrize("field", ["map_digest", "prior_digest", "body_digest"])
def test_a_graph_of_another_map_prior_or_body_is_refused(bundle: Bundle, field: str) -> None:
    _edit_engine_spec(bundle, {field: "a" * 64})
    with pytest.raises(MismatchError, match="aaaaaaaaaaaa, the manifest says"):
        load_engine(Bundle.open(bundle.folder), "drafter")


def test_an_engine_of_another_version_is_refused_with_the_command(bundle: Bundle) -> None:
    path = bundle.folder / "manifest.json"
    value = json.loads(path.read_text())
    value["engines"][0]["backend_version"] = "0.1"
    path.write_text(json.dumps(value))
    with pytest.raises(MismatchError, match=r"was built with ort-cpu 0\.1, .* is installed") as caught:
        load_engine(Bundle.open(bundle.folder), "target")
    assert "redraft build" in (caught.value.hint or "")


def test_installing_the_same_engine_again_is_a_no_op(bundle: Bundle) -> None:
    before = (bundle.folder / "manifest.json").read_bytes()
    start = time.perf_counter()
    again, entry = install_engine(bundle, "target", get_backend("ort-cpu"), Profile())
    assert time.perf_counter() - start < 0.5
    assert entry in bundle.manifest.engines
    assert again.manifest == bundle.manifest
    assert (bundle.folder / "manifest.json").read_bytes() == before


def test_a_lost_engine_folder_is_built_again(bundle: Bundle) -> None:
    folder = bundle.folder / bundle.engines("target")[0].folder
    shutil.rmtree(folder)
    opened = Bundle.open(bundle.folder)
    with pytest.raises(InputFileError, match="is missing"):
        load_engine(opened, "target")
    again, _ = install_engine(opened, "target", get_backend("ort-cpu"), Profile())
    assert folder.is_dir()
    assert again.check_files() == []


def _edit_engine_spec(bundle: Bundle, fields: dict[str, Any]) -> None:
    folder = bundle.engines("drafter")[0].folder
    path = bundle.folder / folder / "graph.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    manifest = json.loads((bundle.folder / "manifest.json").read_text())
    manifest["files"][f"{folder}/graph.json"]["size"] = path.stat().st_size
    (bundle.folder / "manifest.json").write_text(json.dumps(manifest))
