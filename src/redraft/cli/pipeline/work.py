"""Work: a compilation that is under way, shared by its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redraft._core.digest import digest_json
from redraft.cli.recipe import Recipe
from redraft.engines.base import Profile
from redraft.export.precision import Precision

from .identity import code_identity, source_identity
from .journal import Journal

if TYPE_CHECKING:
    from redraft.export.checkpoint.base import Checkpoint

LAYERS = ("_core", "rdk", "export", "engines", "runtime")


@dataclass
class Work:
    """The recipe, the folder that becomes the bundle, and what is opened only when a step needs it."""

    recipe: Recipe
    journal: Journal
    backends: tuple[str, ...]
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder that becomes the bundle."""
        return self.journal.folder

    @property
    def target_precision(self) -> Precision:
        """The target graph's precision."""
        return Precision.parse(self.recipe.target.precision)

    @property
    def drafter_precision(self) -> Precision:
        """The drafter graph's precision."""
        return Precision.parse(self.recipe.drafter.precision)

    @property
    def profile(self) -> Profile:
        """The shapes that every engine is built for."""
        build = self.recipe.build
        return Profile(
            max_batch=1,
            max_prefill=build.max_prefill,
            max_decode=build.max_decode,
            capacity=self.recipe.capacity,
        )

    @property
    def drafter_uri(self) -> str:
        """The checkpoint of the drafter's body: the target's own for `self`."""
        return self.recipe.drafter.checkpoint or self.recipe.target.checkpoint

    @cached_property
    def target_identity(self) -> str:
        """Changes when the target's checkpoint does."""
        return source_identity(self.recipe.target.checkpoint)

    @cached_property
    def drafter_identity(self) -> str:
        """Changes when the drafter's checkpoint does."""
        return self.target_identity if self.is_self_drafter else source_identity(self.drafter_uri)

    @property
    def is_self_drafter(self) -> bool:
        """Whether target and drafter share their weights."""
        return self.recipe.drafter.kind == "self"

    @cached_property
    def target(self) -> Checkpoint:
        """The target's checkpoint, opened."""
        from redraft.export.checkpoint import open_checkpoint

        return open_checkpoint(self.recipe.target.checkpoint)

    @cached_property
    def drafter(self) -> Checkpoint:
        """The drafter's checkpoint, opened."""
        from redraft.export.checkpoint import open_checkpoint

        return self.target if self.is_self_drafter else open_checkpoint(self.drafter_uri)

    def step(
        self,
        name: str,
        title: str,
        *,
        inputs: Any,
        layer: str,
        outputs: Sequence[str],
        run: Callable[[], dict[str, Any]],
    ) -> dict[str, Any]:
        """`Journal.step`, keyed by the inputs (a JSON value) and by the code of `layer` and of all layers
        below it.
        """
        layers = LAYERS[: LAYERS.index(layer) + 1]
        key = digest_json({"inputs": inputs, "code": code_identity(layers)})
        return self.journal.step(name, key, title, outputs, run)
