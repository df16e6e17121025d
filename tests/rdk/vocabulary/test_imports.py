"""Maps of other programs: read without running them, offsets and ids told apart by proof."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from redraft._core.errors import InputFileError, UnsupportedError
from redraft.rdk.vocabulary.imports import import_ids
from redraft.rdk.vocabulary.imports.torch_archive import read_torch_archive

KEPT = np.array([0, 1, 4, 5, 9])
OFFSETS = KEPT - np.arange(5)
MASK = np.isin(np.arange(12), KEPT)


def torch_file(path: Path, content: Any) -> Path:
    torch = pytest.importorskip("torch")
    torch.save(content, path)
    return path


def tensors(path: Path, **arrays: np.ndarray) -> Path:
    save_file(arrays, path)
    return path


def test_a_frequency_list_of_torch_is_read_sorted(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    shuffled = [9, 0, 5, 1, 4]
    for content in (shuffled, torch.tensor(shuffled), torch.tensor(shuffled, dtype=torch.int32)):
        assert import_ids(torch_file(tmp_path / "freq.pt", content), 12).tolist() == KEPT.tolist()


def test_a_slice_of_a_larger_tensor_is_read_as_the_slice(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    base = torch.arange(24).reshape(4, 6)
    path = torch_file(tmp_path / "views.pt", {"column": base[:, 1], "flipped": base.T, "empty": base[:0]})
    found = read_torch_archive(path)
    np.testing.assert_array_equal(found["column"], base[:, 1].numpy())
    np.testing.assert_array_equal(found["flipped"], base.T.numpy())
    assert found["empty"].shape == (0, 6)


class Runs:
    """Unpickling this would run a command."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.mark}",)


def test_a_file_that_would_run_a_program_is_refused_and_runs_nothing(tmp_path: Path) -> None:
    mark, path = tmp_path / "ran", tmp_path / "freq.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("freq/data.pkl", pickle.dumps(Runs(mark)))
    with pytest.raises(InputFileError, match="which only a program that trusts the file may load"):
        import_ids(path, 12)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("offset", "size", "stride", "phrase"),
    [
        (0, (6,), (1,), "reaches beyond its storage"),
        (3, (3,), (1,), "reaches beyond its storage"),
        (0, (10**12,), (0,), "reaches beyond its storage"),
        (-1, (2,), (1,), "makes no sense"),
        (0, (2,), (1, 1), "makes no sense"),
    ],
)
def test_a_tensor_that_leaves_its_storage_is_refused(
    offset: int, size: tuple[int, ...], stride: tuple[int, ...], phrase: str
) -> None:
    from redraft.rdk.vocabulary.imports.torch_archive import _rebuild_tensor

    with pytest.raises(InputFileError, match=phrase):
        _rebuild_tensor(np.arange(5), offset, size, stride)


def test_files_that_torch_did_not_write_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "freq.pt"
    with pytest.raises(InputFileError, match="does not exist"):
        import_ids(path, 12)
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(InputFileError, match=r"not a zip archive of torch\.save"):
        import_ids(path, 12)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/b", b"")
    with pytest.raises(InputFileError, match=r"not one that torch\.save wrote"):
        import_ids(path, 12)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", pickle.dumps([1, 2])[:-4])
    with pytest.raises(InputFileError, match="damaged"):
        import_ids(path, 12)


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        ([1, 1, 2], "id 1 is listed twice"),
        ([1, 12], "id 12 is outside the target's 12 rows"),
        ([-1, 3], "id -1 is outside"),
        ([0.5, 1.0], "expected a list of target ids, got float64"),
        ([], "expected a list of target ids"),
        ([[1, 2], [3]], "nested or mixed"),
        ({"what": 1}, "expected vocab_map, d2t or t2d, found what"),
    ],
)
def test_lists_that_are_no_map_are_refused(tmp_path: Path, content: Any, phrase: str) -> None:
    with pytest.raises(InputFileError, match=phrase):
        import_ids(torch_file(tmp_path / "freq.pt", content), 12)


def test_an_edge_llm_map_is_read_and_an_unsorted_one_refused(tmp_path: Path) -> None:
    path = tmp_path / "vocab_map.safetensors"
    assert import_ids(tensors(path, vocab_map=KEPT.astype(np.int32)), 12).tolist() == KEPT.tolist()
    with pytest.raises(InputFileError, match="not sorted"):
        import_ids(tensors(path, vocab_map=KEPT[::-1].astype(np.int32).copy()), 12)


def test_offsets_are_proven_by_repeats(tmp_path: Path) -> None:
    path = tensors(tmp_path / "head.safetensors", d2t=OFFSETS)
    assert import_ids(path, 12).tolist() == KEPT.tolist()


def test_absolute_ids_are_proven_by_offsets_leaving_the_vocabulary(tmp_path: Path) -> None:
    path = tensors(tmp_path / "head.safetensors", d2t=KEPT)
    assert import_ids(path, 12).tolist() == KEPT.tolist()


def test_two_possible_readings_are_refused_and_t2d_decides_them(tmp_path: Path) -> None:
    d2t = np.array([0, 1, 3])  # ids 0, 1, 3 or, as offsets, 0, 2, 5
    path = tensors(tmp_path / "head.safetensors", d2t=d2t)
    with pytest.raises(UnsupportedError, match="can be read as offsets and as absolute ids"):
        import_ids(path, 12)
    for members in ([0, 1, 3], [0, 2, 5]):
        both = tensors(tmp_path / "both.safetensors", d2t=d2t, t2d=np.isin(np.arange(12), members))
        assert import_ids(both, 12).tolist() == members


def test_one_draft_row_reads_the_same_either_way(tmp_path: Path) -> None:
    assert import_ids(tensors(tmp_path / "head.safetensors", d2t=np.array([7])), 12).tolist() == [7]


@pytest.mark.parametrize("d2t", [[5, 3, 1], [0, 0, 20], [-1, -1]])
def test_no_possible_reading_is_refused(tmp_path: Path, d2t: list[int]) -> None:
    with pytest.raises(UnsupportedError, match="neither offsets nor absolute ids"):
        import_ids(tensors(tmp_path / "head.safetensors", d2t=np.array(d2t)), 12)


def test_a_mask_that_contradicts_d2t_is_refused(tmp_path: Path) -> None:
    path = tensors(tmp_path / "head.safetensors", d2t=OFFSETS, t2d=np.isin(np.arange(12), [0, 1, 4, 5, 8]))
    with pytest.raises(UnsupportedError, match="the members of t2d"):
        import_ids(path, 12)


def test_a_mask_alone_is_read_and_a_wrong_one_refused(tmp_path: Path) -> None:
    assert import_ids(tensors(tmp_path / "head.safetensors", t2d=MASK), 12).tolist() == KEPT.tolist()
    with pytest.raises(InputFileError, match="expected a mask"):
        import_ids(tensors(tmp_path / "head.safetensors", t2d=KEPT), 12)
