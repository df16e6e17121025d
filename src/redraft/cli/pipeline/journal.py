"""Steps that are skipped when nothing that they depend on has changed."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redraft._core.atomic import atomic_file
from redraft.cli.output import note

JOURNAL = "compile.json"


@dataclass(frozen=True, slots=True)
class Done:
    """A finished step: the digest of its inputs, what it left, and what it wants to tell later steps."""

    key: str
    outputs: tuple[str, ...]
    facts: dict[str, Any]


class StepNeededError(Exception):
    """A step of a folder that may only be read is not done."""


@dataclass(slots=True)
class Journal:
    """The finished steps of a folder, kept in `compile.json` inside it, written anew after each step.

    `base`: the journal of an older folder, whose outputs are copied where a step ran there with the same key.
    `only_read`: a step that is not done raises StepNeededError instead of running, and nothing is printed or
    written.
    """

    folder: Path
    base: Journal | None = None
    only_read: bool = False
    done: dict[str, Done] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    @staticmethod
    def open(folder: Path, *, base: Path | None = None, only_read: bool = False) -> Journal:
        """The folder's journal; an unreadable one counts as empty, so that every step runs again."""
        try:
            value = json.loads((folder / JOURNAL).read_text())
            done = {
                name: Done(item["key"], tuple(item["outputs"]), item["facts"])
                for name, item in value["steps"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            done = {}
        older = None if base is None else Journal.open(base, only_read=True)
        return Journal(folder, older, only_read, done)

    def is_done(self, name: str, key: str) -> bool:
        """Whether the step ran with this key and all it left is still there."""
        record = self.done.get(name)
        return (
            record is not None
            and record.key == key
            and all((self.folder / path).exists() for path in record.outputs)
        )

    def step(
        self, name: str, key: str, title: str, outputs: Sequence[str], run: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Run a step unless it is done, and return its facts (a JSON object).

        `outputs` are paths relative to the folder. They are removed before the step runs, and the step is
        recorded only when it returned, so that an interrupted one runs again from its start.
        """
        self.used.add(name)
        if self.is_done(name, key):
            if not self.only_read:
                note(f"  = {title} (unchanged)")
            return self.done[name].facts
        if self.only_read:
            raise StepNeededError(name)
        self._forget(name, outputs)
        if self.base is not None and self.base.is_done(name, key):
            note(f"  = {title} (unchanged)")
            facts = self._copied(self.base, name)
        else:
            note(f"  > {title}")
            start = time.perf_counter()
            facts = run()
            note(f"    done in {time.perf_counter() - start:.1f} s")
        self.done[name] = Done(key, tuple(outputs), facts)
        self._write()
        return facts

    def drop_unused(self) -> None:
        """Remove what steps of an earlier recipe left and no step of this one uses."""
        if self.only_read:
            return
        kept = {path for name in self.used if name in self.done for path in self.done[name].outputs}
        for name in [name for name in self.done if name not in self.used]:
            for path in self.done.pop(name).outputs:
                if path not in kept:
                    remove(self.folder / path)
        self._write()

    def _copied(self, base: Journal, name: str) -> dict[str, Any]:
        """Copy a step's outputs from an older folder; its facts.

        Links would do, but ONNX refuses linked weights.
        """
        record = base.done[name]
        for path in record.outputs:
            source, target = base.folder / path, self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy2(source, target)
        return record.facts

    def _forget(self, name: str, outputs: Sequence[str]) -> None:
        old = self.done.pop(name, None)
        if old is not None:
            self._write()
        for path in {*outputs, *(old.outputs if old else ())}:
            if not any(path in other.outputs for other in self.done.values()):
                remove(self.folder / path)

    def _write(self) -> None:
        steps = {
            name: {"key": item.key, "outputs": list(item.outputs), "facts": item.facts}
            for name, item in self.done.items()
        }
        with atomic_file(self.folder / JOURNAL) as path:
            path.write_text(json.dumps({"steps": steps}, indent=1))


def remove(path: Path) -> None:
    """Remove a file or a folder; nothing happens where there is none."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
