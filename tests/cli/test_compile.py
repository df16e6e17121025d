"""From a tiny checkpoint to text through the whole pipeline: resumed, repeated, moved, damaged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Program
from tests.support.tiny_bundle import compile_tiny, write_tiny_recipe

from redraft._core.errors import RedraftError
from redraft.cli.pipeline import drafter_steps, finish_steps
from redraft.cli.pipeline.staging import partial_folder
from redraft.engines.bundle import Bundle


@pytest.fixture
def recipe(tiny_folder: Callable[[str], Path], tmp_path: Path) -> Path:
    return write_tiny_recipe(tmp_path / "tiny.toml", tiny_folder("llama-tied"), kind="bucket")


def test_the_bundle_holds_what_the_manifest_says_and_nothing_half_written(tiny_bundle: Path) -> None:
    bundle = Bundle.open(tiny_bundle)
    assert bundle.check_files() == []
    assert bundle.manifest.drafter is not None
    assert bundle.manifest.drafter.map_digest == bundle.manifest.map_digest
    hidden = [path for path in tiny_bundle.rglob("*") if path.name.startswith(".")]
    assert hidden == []
    listed = set(bundle.manifest.files) | {"manifest.json", "compile.json"}
    found = {path.relative_to(tiny_bundle).as_posix() for path in tiny_bundle.rglob("*") if path.is_file()}
    assert found == listed


def test_every_part_of_the_layout_is_there(tiny_bundle: Path) -> None:
    for name in (
        "recipe.toml",
        "tokenizer/tokenizer.json",
        "vocab_map.safetensors",
        "rdk_prior.safetensors",
        "target/fp32/model.onnx.data",
        "drafter/int4/graph.json",
        "engines/ort-cpu",
    ):
        assert (tiny_bundle / name).exists(), name


def test_the_notice_is_printed_and_kept(
    recipe: Path, program: Program, monkeypatch: pytest.MonkeyPatch, tiny_bundle: Path
) -> None:
    monkeypatch.setattr(
        "redraft.cli.pipeline.compile.run_steps", lambda work, text: (work.folder / "x").write_text("")
    )
    finished = program("compile", recipe, "-o", recipe.parent / "out")
    assert "notice: These weights are random." in finished.err
    assert Bundle.open(tiny_bundle).manifest.notice == "These weights are random."


def test_a_repeated_compilation_runs_no_step(
    tiny_bundle: Path, tiny_recipe: Path, program: Program, tmp_path: Path
) -> None:
    copy = shutil.copytree(tiny_bundle, tmp_path / "copy")
    before = (copy / "manifest.json").stat().st_mtime_ns
    finished = program("compile", tiny_recipe, "-o", copy, "--json")
    assert json.loads(finished.out)["up_to_date"]
    assert "  > " not in finished.err
    assert (copy / "manifest.json").stat().st_mtime_ns == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy"]


def test_another_prior_runs_only_the_steps_behind_it(
    tiny_bundle: Path, tiny_recipe: Path, program: Program, tmp_path: Path
) -> None:
    copy = shutil.copytree(tiny_bundle, tmp_path / "copy")
    changed = tmp_path / "changed.toml"
    changed.write_text(tiny_recipe.read_text().replace("rank = 4", "rank = 6"))
    finished = program("compile", changed, "-o", copy)
    assert finished.code == 0, finished.err
    ran = [line for line in finished.err.splitlines() if line.startswith("  > ")]
    kept = [line for line in finished.err.splitlines() if line.startswith("  = ")]
    assert any("RDK prior" in line for line in ran)
    assert any("drafter graph" in line for line in ran)
    assert not any("calibration" in line or "target" in line for line in ran)
    assert any("target graph" in line for line in kept)
    assert Bundle.open(copy).check_files() == []
    assert len(Bundle.open(copy).manifest.engines) == 2


def test_another_chat_template_is_in_the_manifest_and_in_the_text(
    tiny_folder: Callable[[str], Path], program: Program, tmp_path: Path
) -> None:
    checkpoint = shutil.copytree(tiny_folder("llama-tied"), tmp_path / "checkpoint")
    recipe = write_tiny_recipe(tmp_path / "tiny.toml", checkpoint)
    copy = compile_tiny(recipe, tmp_path / "copy")
    template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    (checkpoint / "chat_template.jinja").write_text(template)
    finished = program("compile", recipe, "-o", copy)
    assert finished.code == 0, finished.err
    assert (copy / "tokenizer" / "chat_template.jinja").read_text() == template
    assert any(line.startswith("  > calibration text") for line in finished.err.splitlines())
    assert Bundle.open(copy).check_files() == []


def test_an_interrupted_compilation_leaves_no_bundle_and_goes_on_where_it_stopped(
    recipe: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = recipe.parent / "out"

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(drafter_steps, "make_prior", interrupted)
        assert program("compile", recipe, "-o", bundle).code == 130
    assert not bundle.exists()
    finished = program("compile", recipe, "-o", bundle)
    assert finished.code == 0, finished.err
    assert "  = target graph" in finished.err
    assert "  = calibration text" in finished.err
    assert Bundle.open(bundle).check_files() == []
    assert not partial_folder(bundle).exists()


def test_a_full_disk_is_one_sentence_and_leaves_no_bundle(
    recipe: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "weights")

    monkeypatch.setattr("redraft.export.export_target", full, raising=False)
    finished = program("compile", recipe, "-o", recipe.parent / "out")
    assert finished.code == 1
    assert "weights: No space left on device" in finished.err
    assert "unexpected" not in finished.err
    assert not (recipe.parent / "out").exists()


def test_a_bundle_that_does_not_verify_is_not_put_in_its_place(
    recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from redraft.engines.verification.check import Check

    monkeypatch.setattr(
        "redraft.cli.verification.verify", lambda bundle, thorough: [Check("parity", False, "it is wrong")]
    )
    with pytest.raises(RedraftError, match="does not verify: parity: it is wrong"):
        compile_tiny(recipe, recipe.parent / "out")
    assert not (recipe.parent / "out").exists()
    assert finish_steps.MANIFEST == "manifest.json"


def test_a_folder_that_is_no_bundle_is_not_overwritten(recipe: Path, program: Program) -> None:
    place = recipe.parent / "mine"
    place.mkdir()
    (place / "letter.txt").write_text("dear")
    finished = program("compile", recipe, "-o", place)
    assert finished.code == 1
    assert "is there and is no bundle" in finished.err
    assert [path.name for path in place.iterdir()] == ["letter.txt"]


def test_no_available_backend_is_said_with_its_reason(recipe: Path, program: Program) -> None:
    finished = program("compile", recipe, "-o", recipe.parent / "out", "--backend", "tensorrt")
    assert finished.code == 1
    assert "backend 'tensorrt'" in finished.err
    assert not (recipe.parent / "out").exists()


@pytest.mark.parametrize("kind", ["tli", "shift", "dense", "first-order"])
def test_every_other_kind_compiles_from_a_list_of_ids_too(
    kind: str, tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    recipe = write_tiny_recipe(tmp_path / "r.toml", tiny_folder("llama-tied"), kind=kind)
    (tmp_path / "ids.txt").write_text("\n".join(str(i) for i in range(5, 280)))
    text = recipe.read_text().replace("keep = 0.9", 'keep = 0.9\nsource = "list"\npath = "ids.txt"')
    recipe.write_text(text)
    bundle = Bundle.open(compile_tiny(recipe, tmp_path / "out"))
    assert bundle.manifest.prior is not None
    assert bundle.manifest.prior.kind == kind
    assert (bundle.folder / "calibration").exists() == (kind in ("dense", "first-order"))


def test_a_drafter_of_another_checkpoint_with_the_same_tokenizer(
    tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    recipe = write_tiny_recipe(tmp_path / "r.toml", tiny_folder("llama"))
    drafter = tiny_folder("qwen3")
    recipe.write_text(f'{recipe.read_text()}\n[drafter]\nkind = "model"\ncheckpoint = "{drafter}"\n')
    manifest = Bundle.open(compile_tiny(recipe, tmp_path / "out")).manifest
    assert manifest.drafter is not None
    assert (manifest.drafter.kind, manifest.drafter.source.uri) == ("model", str(drafter))
