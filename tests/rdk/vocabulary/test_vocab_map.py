"""VocabMap: identity, files, and every way a map can be wrong."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from redraft._core.errors import InputFileError, MismatchError
from redraft.rdk.vocabulary import VocabMap

TOKENIZER = "5" * 64


def ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def test_digest_is_sha256_over_rows_and_ids_as_little_endian_int32() -> None:
    expected = hashlib.sha256(b"\x0a\x00\x00\x00" + b"\x01\x00\x00\x00" + b"\x05\x00\x00\x00").hexdigest()
    assert VocabMap(ids(1, 5), 10, TOKENIZER).digest == expected


def test_maps_of_the_same_size_have_different_digests() -> None:
    assert VocabMap(ids(1, 5), 10, TOKENIZER).digest != VocabMap(ids(1, 6), 10, TOKENIZER).digest
    assert VocabMap(ids(1, 5), 10, TOKENIZER).digest != VocabMap(ids(1, 5), 11, TOKENIZER).digest


def test_hot_and_cold_ids_partition_the_rows() -> None:
    vocab_map = VocabMap(ids(1, 5, 7), 10, TOKENIZER, num_tokens=8)
    both = np.concatenate([vocab_map.hot_ids, vocab_map.cold_ids])
    assert sorted(both.tolist()) == list(range(10))
    assert vocab_map.cold_ids.tolist() == [0, 2, 3, 4, 6, 8, 9]
    assert (vocab_map.num_hot, vocab_map.num_cold, vocab_map.keep) == (3, 7, 0.3)


def test_identity_means_every_row_and_not_only_every_token() -> None:
    everything = np.arange(8, dtype=np.int32)
    assert VocabMap(everything, 8, TOKENIZER).is_identity
    assert not VocabMap(everything, 10, TOKENIZER, num_tokens=8).is_identity


@pytest.mark.parametrize(
    ("target_ids", "rows", "num_tokens", "phrase"),
    [
        (ids(), 10, 0, "keeps no token"),
        (ids(5, 1), 10, 0, "not sorted"),
        (ids(1, 5, 5), 10, 0, "id 5 is listed twice"),
        (ids(1, 10), 10, 0, "id 10 is outside the vocabulary of 10 tokens"),
        (ids(-1, 2), 10, 0, "id -1 is outside"),
        (ids(1, 9), 10, 8, "id 9 is outside the vocabulary of 8 tokens"),
        (np.array([1, 2]), 10, 0, "expected int32 [D] ids, got int64 [2]"),
        (np.zeros((2, 2), np.int32), 10, 0, "expected int32 [D] ids, got int32 [2, 2]"),
        (ids(1), 10, 11, "expected 1 to 10 tokens in 10 rows, got 11"),
    ],
)
def test_a_wrong_map_is_refused_in_one_sentence(
    target_ids: np.ndarray, rows: int, num_tokens: int, phrase: str
) -> None:
    with pytest.raises(InputFileError) as error:
        VocabMap(target_ids, rows, TOKENIZER, num_tokens)
    assert phrase in error.value.message


def test_another_tokenizer_is_refused() -> None:
    vocab_map = VocabMap(ids(1), 10, TOKENIZER)
    vocab_map.check_tokenizer(TOKENIZER)
    with pytest.raises(MismatchError, match="is for tokenizer 555555555555, not for 666666666666"):
        vocab_map.check_tokenizer("6" * 64)


def test_a_saved_map_comes_back_and_is_int32_under_the_key_vocab_map(tmp_path: Path) -> None:
    path = tmp_path / "vocab_map.safetensors"
    vocab_map = VocabMap(ids(1, 5, 7), 10, TOKENIZER, num_tokens=8)
    vocab_map.save(path)
    found = VocabMap.load(path)
    assert found.digest == vocab_map.digest
    assert (found.rows, found.num_tokens, found.tokenizer_digest) == (10, 8, TOKENIZER)
    with safe_open(path, framework="numpy") as file:
        assert list(file.keys()) == ["vocab_map"]
        assert file.get_tensor("vocab_map").dtype == np.int32
        assert file.get_tensor("vocab_map").tolist() == [1, 5, 7]


def metadata(**changes: str) -> dict[str, str]:
    digest = VocabMap(ids(1, 5), 10, TOKENIZER).digest
    return {
        "rows": "10",
        "num_tokens": "10",
        "tokenizer_digest": TOKENIZER,
        "digest": digest,
        **changes,
    }


@pytest.mark.parametrize(
    ("tensors", "facts", "phrase"),
    [
        ({"other": ids(1, 5)}, metadata(), "holds no tensor 'vocab_map'"),
        ({"vocab_map": ids(1, 5)}, {}, "neither how many rows"),
        ({"vocab_map": ids(1, 5)}, metadata(rows="many"), "neither how many rows"),
        ({"vocab_map": np.array([1, 5])}, metadata(), "expected int32 ids, got int64"),
        ({"vocab_map": ids(5, 1)}, metadata(), "not sorted"),
        ({"vocab_map": ids(5, 5)}, metadata(), "listed twice"),
        ({"vocab_map": ids(1, 50)}, metadata(), "id 50 is outside"),
        ({"vocab_map": ids(1, 6)}, metadata(), "but it was written with"),
    ],
)
def test_a_damaged_map_file_is_refused_with_its_path(
    tmp_path: Path, tensors: dict[str, np.ndarray], facts: dict[str, str], phrase: str
) -> None:
    path = tmp_path / "vocab_map.safetensors"
    save_file(tensors, path, metadata=facts)
    with pytest.raises((InputFileError, MismatchError)) as error:
        VocabMap.load(path)
    assert phrase in error.value.message
    assert str(path) in error.value.message


def test_a_missing_or_truncated_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vocab_map.safetensors"
    with pytest.raises(InputFileError, match="does not exist"):
        VocabMap.load(path)
    VocabMap(ids(1, 5, 7), 10, TOKENIZER).save(path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(InputFileError, match="not a readable safetensors file"):
        VocabMap.load(path)
