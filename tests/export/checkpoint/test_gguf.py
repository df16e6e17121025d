"""GGUF files: the same values as their source, in canonical order, and damaged files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.tiny_gguf import tiny_gguf

from redraft._core.errors import InputFileError, RedraftError, UnsupportedError
from redraft.export.checkpoint import BlockQuantized, open_checkpoint
from redraft.export.checkpoint.gguf_blocks import block_quantized
from redraft.export.checkpoint.gguf_file import GgufFile

VARIANTS = ("llama", "llama-tied", "llama-biased", "mistral", "qwen2", "qwen3", "gemma3_text")
BLOCK_TYPES = ("Q4_0", "Q4_1", "Q4_K", "Q5_0", "Q5_1", "Q6_K", "Q8_0")


def expand(blocks: BlockQuantized) -> np.ndarray[Any, np.dtype[np.float32]]:
    """scale * q + minimum in float32."""
    q = blocks.q.reshape(*blocks.scale.shape, blocks.block).astype(np.float32)
    return (blocks.scale[..., None] * q + blocks.minimum[..., None]).reshape(blocks.q.shape)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_converted_model_holds_the_values_of_its_source(
    variant: str, tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tiny_folder(variant)
    source, converted = (
        open_checkpoint(str(folder)),
        open_checkpoint(str(tiny_gguf(folder, tmp_path / "tiny.gguf"))),
    )
    assert converted.names() == source.names()
    for name in source.names():
        np.testing.assert_array_equal(converted.load(name), source.load(name), err_msg=name)
    assert converted.digest() == source.digest()


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "F16"])
def test_rows_and_blocks_follow_the_canonical_order(
    kind: str, tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    path = tiny_gguf(tiny_folder("llama-biased"), tmp_path / "tiny.gguf", quantize=lambda name: kind)
    checkpoint = open_checkpoint(str(path))
    rows = np.array([3, 0, 31, 3], np.int64)
    for name in (
        "layers.0.q.weight",
        "layers.1.k.weight",
        "layers.0.v.weight",
        "embed.weight",
        "layers.0.q.bias",
    ):
        value = checkpoint.load(name)
        np.testing.assert_array_equal(checkpoint.load_rows(name, rows), value[rows])
        blocks = checkpoint.load_quantized(name)
        assert (blocks is None) == (kind == "F16" or value.ndim == 1)
        if blocks is not None:
            np.testing.assert_array_equal(expand(blocks), value)


def test_quantised_values_stay_near_their_source(tiny_folder: Callable[[str], Path], tmp_path: Path) -> None:
    """A wrong row order would be as far off as another matrix."""
    folder = tiny_folder("llama")
    path = tiny_gguf(folder, tmp_path / "tiny.gguf", quantize=lambda name: "Q8_0")
    source, quantised = open_checkpoint(str(folder)), open_checkpoint(str(path))
    for name in ("layers.0.q.weight", "layers.1.k.weight"):
        value = source.load(name)
        assert np.abs(quantised.load(name) - value).max() < 0.02 * np.abs(value).max()


@pytest.mark.parametrize("kind", BLOCK_TYPES)
def test_blocks_reproduce_the_files_own_dequantisation(kind: str) -> None:
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize

    dtype = GGMLQuantizationType[kind]
    group, size = GGML_QUANT_SIZES[dtype]
    data = np.random.default_rng(3).integers(0, 256, (24, 4, size), dtype=np.uint8)
    for first in {"Q6_K": (208,), "Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2)}.get(kind, (0,)):
        data[..., first + 1] &= 0xBF  # keep the halves finite
    data = data.reshape(24, 4 * size)
    expected = dequantize(data, dtype)
    blocks = block_quantized(data, kind)
    assert blocks is not None
    assert blocks.q.shape == expected.shape == (24, 4 * group)
    assert blocks.scale.shape == blocks.minimum.shape == (24, 4 * group // blocks.block)
    assert blocks.q.max() < 2**blocks.bits
    assert (blocks.q.dtype, blocks.scale.dtype, blocks.minimum.dtype) == (np.uint8, np.float32, np.float32)
    if kind == "Q6_K":
        np.testing.assert_allclose(expand(blocks), expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    else:
        np.testing.assert_array_equal(expand(blocks), expected)


def test_other_types_are_not_blocks() -> None:
    assert block_quantized(np.zeros((2, 8), np.uint8), "F32") is None
    assert block_quantized(np.zeros((2, 84), np.uint8), "Q2_K") is None


@pytest.mark.parametrize(
    ("kind", "extra", "expected"),
    [
        ("Q4_1", {"general.file_type": 3}, ("gguf-q4_1", 4)),
        ("Q8_0", {"general.file_type": 15}, ("gguf-q4_k_m", 4)),
        ("Q8_0", {}, ("gguf-q8_0", 8)),
        ("F32", {}, ("gguf-f32", None)),
        ("F16", {"general.file_type": 1}, ("gguf-f16", None)),
    ],
)
def test_the_format_is_what_the_file_states_or_mostly_holds(
    kind: str,
    extra: dict[str, Any],
    expected: tuple[str, int | None],
    tiny_folder: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    path = tiny_gguf(
        tiny_folder("llama"),
        tmp_path / "tiny.gguf",
        quantize=lambda name: kind,
        extra={**extra, "general.license": "mit"},
    )
    source = open_checkpoint(str(path)).source
    assert (source.format, source.quantized_bits) == expected
    assert source.license == "mit"


def test_metadata_is_read_as_the_gguf_package_reads_it(
    tiny_folder: Callable[[str], Path], tmp_path: Path
) -> None:
    from gguf import GGUFReader

    path = tiny_gguf(tiny_folder("gemma3_text"), tmp_path / "tiny.gguf", quantize=lambda name: "Q4_0")
    reader, file = GGUFReader(path), GgufFile(path)
    theirs = {key: field.contents() for key, field in reader.fields.items() if not key.startswith("GGUF.")}
    assert file.metadata == theirs
    assert list(file.tensors) == [tensor.name for tensor in reader.tensors]
    for tensor in reader.tensors:
        mine = file.tensors[tensor.name]
        assert mine.shape == tuple(int(n) for n in tensor.shape[::-1])
        assert mine.data.tobytes() == tensor.data.tobytes()


def test_every_truncation_is_one_clear_sentence(tiny_folder: Callable[[str], Path], tmp_path: Path) -> None:
    content = tiny_gguf(tiny_folder("llama"), tmp_path / "tiny.gguf").read_bytes()
    cut = tmp_path / "cut.gguf"
    for length in [*range(40), *range(40, len(content) - 1, 6151), len(content) - 33]:
        cut.write_bytes(content[:length])
        with pytest.raises(InputFileError) as caught:
            open_checkpoint(str(cut))
        assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("options", "phrase", "kind"),
    [
        ({"extra": {"split.count": 3}}, "is one of 3 parts", UnsupportedError),
        (
            {"tensors": {"blk.0.attn_sinks.weight": np.ones(4, np.float32)}},
            "has no use for",
            UnsupportedError,
        ),
        (
            {"tensors": {"blk.0.attn_k.weight": np.ones((64, 64), np.float32)}},
            "'blk.0.attn_k.weight': expected [32, 64] from the config, got [64, 64]",
            InputFileError,
        ),
        (
            {"extra": {"llama.block_count": 3}},
            "the tensor 'blk.2.attn_norm.weight' is missing",
            InputFileError,
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    options: dict[str, Any],
    phrase: str,
    kind: type[RedraftError],
    tiny_folder: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    path = tiny_gguf(tiny_folder("llama"), tmp_path / "tiny.gguf", **options)
    with pytest.raises(kind) as caught:
        open_checkpoint(str(path))
    assert phrase in caught.value.message


def test_other_files_are_not_taken_for_gguf(tmp_path: Path) -> None:
    for name, content, phrase in (
        ("a.gguf", b"not a model", "is not a GGUF file"),
        ("b.gguf", b"", "it is empty"),
        ("c.gguf", b"GGUF\x01\0\0\0" + bytes(16), "GGUF version 1 is not supported"),
        ("d.bin", b"PK", "is not a GGUF file"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RedraftError) as caught:
            open_checkpoint(str(tmp_path / name))
        assert phrase in caught.value.message
