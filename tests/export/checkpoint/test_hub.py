"""Hub ids, against a cache on disk with no network."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from redraft._core.errors import RedraftError, UnavailableError, UnsupportedError
from redraft.export.checkpoint import hub, open_checkpoint

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty hub cache with HF_HUB_OFFLINE set (the library reads both when it is imported)."""
    from huggingface_hub import _snapshot_download, constants

    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    if hasattr(_snapshot_download.constants, "HF_HUB_CACHE"):
        monkeypatch.setattr(_snapshot_download.constants, "HF_HUB_CACHE", str(folder))
    return folder


def store(cache: Path, folder: Path) -> Path:
    repository = cache / "models--org--tiny"
    snapshot = Path(shutil.copytree(folder, repository / "snapshots" / COMMIT))
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    return snapshot


@pytest.mark.parametrize("uri", ["org/tiny", f"org/tiny@{COMMIT}"])
def test_a_cached_model_opens_offline(uri: str, cache: Path, tiny_folder: Callable[[str], Path]) -> None:
    store(cache, tiny_folder("llama"))
    checkpoint = open_checkpoint(uri)
    assert (checkpoint.source.uri, checkpoint.source.revision) == (uri, COMMIT)
    assert checkpoint.digest() == open_checkpoint(str(tiny_folder("llama"))).digest()


def test_a_model_that_is_not_cached_is_explained(cache: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        open_checkpoint("org/absent")
    assert "'org/absent' is not in the local cache and HF_HUB_OFFLINE is set" in caught.value.message


def test_an_unsupported_config_is_refused_before_the_weights(
    cache: Path, tiny_folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = store(cache, tiny_folder("llama"))
    config = snapshot / "config.json"
    config.write_text(config.read_text().replace('"llama"', '"falcon"'))
    asked: list[list[str]] = []
    original = hub._snapshot

    def spy(repository: str, revision: str | None, patterns: list[str]) -> Path:
        asked.append(patterns)
        return original(repository, revision, patterns)

    monkeypatch.setattr(hub, "_snapshot", spy)
    with pytest.raises(UnsupportedError, match="model type 'falcon'"):
        open_checkpoint("org/tiny")
    assert len(asked) == 1
    assert not any("safetensors" in pattern and "index" not in pattern for pattern in asked[0])


@pytest.mark.parametrize(
    ("error", "phrase"),
    [
        ("RepositoryNotFoundError", "the hub has no model 'org/tiny'"),
        ("RevisionNotFoundError", "the hub has no model 'org/tiny' at revision 'v2'"),
        ("GatedRepoError", "'org/tiny' at revision 'v2' is gated"),
        ("LocalEntryNotFoundError", "is not in the local cache"),
    ],
)
def test_the_hubs_errors_become_one_sentence(
    error: str, phrase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub
    from huggingface_hub import errors

    kind = getattr(errors, error)

    def fail(*_: object, **__: object) -> str:
        raise kind.__new__(kind)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    uri = "org/tiny" if error == "RepositoryNotFoundError" else "org/tiny@v2"
    with pytest.raises(RedraftError) as caught:
        open_checkpoint(uri)
    assert phrase in caught.value.message
    assert caught.value.hint
