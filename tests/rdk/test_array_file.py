"""Files of arrays: a write that fails is one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from redraft._core.atomic import atomic_file
from redraft._core.errors import RedraftError
from redraft.rdk.array_file import read_arrays, write_arrays


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a", {"x": np.arange(6.0).reshape(2, 3).T}, {"k": "v"})
    arrays, metadata = read_arrays(tmp_path / "a")
    np.testing.assert_array_equal(arrays["x"], np.arange(6.0).reshape(2, 3).T)
    assert metadata == {"k": "v"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_keeps_the_reason_and_the_hint(tmp_path: Path) -> None:
    with pytest.raises(RedraftError, match="No space left") as caught:
        _write_to_a_full_disk(tmp_path / "a")
    assert caught.value.hint == "free some space or choose another folder"
    assert list(tmp_path.iterdir()) == []


def _write_to_a_full_disk(path: Path) -> None:
    with atomic_file(path) as file:
        file.unlink()
        file.symlink_to("/dev/full")
        write_arrays(file, {"x": np.zeros(3)}, {})
