"""TextStore: the finished chunks of an unfinished generation, one file each, so that nothing is written
twice.
"""

from __future__ import annotations

import json
from pathlib import Path

from redraft._core.atomic import atomic_file
from redraft._core.digest import digest_json

from .calibration_text import TextSequence


class TextStore:
    """A folder of `chunk-NNNNN.json`. A chunk counts only where it is whole and was made with the same
    settings.
    """

    def __init__(self, folder: Path, settings_digest: str) -> None:
        """`settings_digest`: changes with everything that decides the text."""
        self._folder, self._settings = folder, settings_digest

    def load(self, index: int) -> tuple[TextSequence, ...] | None:
        """The chunk of that number; None where it is missing, damaged, or made with other settings."""
        try:
            value = json.loads(self._path(index).read_text(encoding="utf-8"))
            sequences = value["sequences"]
            if value["settings"] != self._settings or value["digest"] != digest_json(sequences):
                return None
            return tuple(TextSequence.from_json(item) for item in sequences)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self, index: int, sequences: tuple[TextSequence, ...]) -> None:
        """Write a chunk, whole or not at all."""
        items = [sequence.to_json() for sequence in sequences]
        value = {"settings": self._settings, "digest": digest_json(items), "sequences": items}
        with atomic_file(self._path(index)) as path:
            path.write_text(json.dumps(value, separators=(",", ":")), encoding="utf-8")

    def _path(self, index: int) -> Path:
        return self._folder / f"chunk-{index:05d}.json"
