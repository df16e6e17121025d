"""The manifest: strict, versioned, in sync with its JSON Schema, damaged in every way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.hand_bundle import make_bundle

from redraft._core.errors import InputFileError, MismatchError
from redraft.engines.bundle import Bundle, Manifest, read_manifest, write_manifest
from redraft.engines.bundle.schema import SCHEMA_FILE, manifest_schema


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return make_bundle(tmp_path / "tiny", engine=False)


def edit(bundle: Bundle, change: Any) -> None:
    path = bundle.folder / "manifest.json"
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def test_the_schema_file_is_the_models_schema() -> None:
    assert json.loads(SCHEMA_FILE.read_text()) == manifest_schema(), (
        "run python -m redraft.engines.bundle.schema"
    )


def test_reading_gives_what_was_written(bundle: Bundle) -> None:
    again = read_manifest(bundle.folder)
    assert again == bundle.manifest
    write_manifest(bundle.folder, again)
    assert read_manifest(bundle.folder) == again


DAMAGE = {
    "unknown field": (lambda v: v.update(colour="red"), "colour"),
    "missing field": (lambda v: v.pop("name"), "name"),
    "wrong type": (lambda v: v.update(name=3), "name"),
    "absolute path": (lambda v: v["target"].update(folder="/etc"), "target.folder.*not a relative path"),
    "path above": (lambda v: v["target"].update(folder="../x"), "not a relative path inside"),
    "file path above": (
        lambda v: v["files"].update({"a/../../b": {"size": 0, "sha256": "0" * 64}}),
        "inside",
    ),
    "short digest": (lambda v: v.update(map_digest="abc"), "map_digest"),
    "negative size": (lambda v: v["files"]["recipe.toml"].update(size=-1), "size"),
    "no version": (lambda v: v.pop("schema_version"), "schema_version is missing"),
    "boolean version": (lambda v: v.update(schema_version=True), "schema_version is missing"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_manifest_is_refused_by_field(bundle: Bundle, name: str) -> None:
    change, phrase = DAMAGE[name]
    edit(bundle, change)
    with pytest.raises(InputFileError, match=f"manifest.json is damaged.*{phrase}") as caught:
        Bundle.open(bundle.folder)
    assert "redraft compile" in (caught.value.hint or "")


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00\xff", '{"schema_version": 1'])
def test_a_manifest_that_is_no_json_object_is_refused(bundle: Bundle, text: str) -> None:
    (bundle.folder / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(InputFileError, match="is damaged"):
        Bundle.open(bundle.folder)


def test_another_schema_version_is_refused_with_the_command(bundle: Bundle) -> None:
    edit(bundle, lambda v: v.update(schema_version=2))
    with pytest.raises(MismatchError, match="schema version 2, this redraft reads up to 1") as newer:
        Bundle.open(bundle.folder)
    assert "pip install -U redraft" in (newer.value.hint or "")
    edit(bundle, lambda v: v.update(schema_version=0))
    with pytest.raises(MismatchError, match="schema version 0") as older:
        Bundle.open(bundle.folder)
    assert "redraft compile" in (older.value.hint or "")


def test_a_folder_without_manifest_and_no_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"holds no manifest\.json"):
        Bundle.open(tmp_path)
    with pytest.raises(InputFileError, match="is not a folder"):
        Bundle.open(tmp_path / "none")


def test_a_failed_write_leaves_the_old_manifest(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (bundle.folder / "manifest.json").read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(Exception, match="No space left on device"):
        write_manifest(bundle.folder, bundle.manifest.model_copy(update={"name": "other"}))
    assert (bundle.folder / "manifest.json").read_bytes() == before
    assert not list(bundle.folder.glob(".*tmp"))


def test_a_manifest_cannot_be_changed_in_place(bundle: Bundle) -> None:
    with pytest.raises(Exception, match="frozen"):
        bundle.manifest.name = "other"
    assert isinstance(bundle.manifest, Manifest)
