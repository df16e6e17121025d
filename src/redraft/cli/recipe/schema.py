"""Recipe: what `redraft compile` makes of which checkpoint, as frozen dataclasses."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

DrafterKind = Literal["self", "model"]
MapSource = Literal["generated", "corpus", "list", "map"]
DraftPolicy = Literal["fixed", "confidence"]


@dataclass(frozen=True, slots=True)
class TargetRecipe:
    """The model whose law the output follows."""

    checkpoint: str
    precision: str = "fp32"


@dataclass(frozen=True, slots=True)
class DrafterRecipe:
    """The model that proposes.

    `self`: the target's own weights; `model`: `checkpoint`, with the same tokenizer.
    """

    kind: DrafterKind = "self"
    checkpoint: str | None = None
    precision: str = "int4"
    drop_layers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class VocabularyRecipe:
    """Which target ids the drafter's head keeps.

    `generated`: the most frequent in text that the target writes itself; `corpus`: in the text file `path`;
    `list`: the ids in `path` (one a line, or a JSON list); `map`: the finished map `path`. `keep` is a
    fraction of the target's rows.
    """

    keep: float = 0.1
    source: MapSource = "generated"
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class RdkRecipe:
    """How the pruned drafter's probability is spread over the whole vocabulary: see
    `redraft.rdk.prior.KINDS`.
    """

    kind: str = "low-rank"
    rank: int = 32
    epsilon: float = 0.05
    tau: float | None = None


@dataclass(frozen=True, slots=True)
class CalibrationRecipe:
    """How much text the target writes for the vocabulary and the prior.

    `prompts`: a text file, one prompt a line.
    """

    tokens: int = 4096
    tokens_per_prompt: int = 128
    temperature: float = 1.0
    seed: int = 0
    prompts: Path | None = None


@dataclass(frozen=True, slots=True)
class RuntimeRecipe:
    """Defaults that the bundle carries for decoding. `threads` 0: as many as the process may use cores."""

    num_speculative_tokens: int = 4
    draft_policy: DraftPolicy = "fixed"
    context: int = 2048
    cache_capacity: int = 0
    threads: int = 0


@dataclass(frozen=True, slots=True)
class BuildRecipe:
    """The backends to build for (`all`: every one that works here) and the widest calls that the engines
    take.
    """

    backends: tuple[str, ...] = ("ort-cpu",)
    max_prefill: int = 512
    max_decode: int = 16


@dataclass(frozen=True, slots=True)
class Recipe:
    """A whole recipe. `notice` is printed when the recipe is compiled: terms of the weights, for example."""

    target: TargetRecipe
    name: str = ""
    notice: str = ""
    drafter: DrafterRecipe = field(default_factory=DrafterRecipe)
    vocabulary: VocabularyRecipe = field(default_factory=VocabularyRecipe)
    rdk: RdkRecipe = field(default_factory=RdkRecipe)
    calibration: CalibrationRecipe = field(default_factory=CalibrationRecipe)
    runtime: RuntimeRecipe = field(default_factory=RuntimeRecipe)
    build: BuildRecipe = field(default_factory=BuildRecipe)

    @property
    def capacity(self) -> int:
        """N: the cache slots; by default the context and the widest call, since padded rows write too."""
        return self.runtime.cache_capacity or self.runtime.context + self.build.max_prefill

    def to_json(self) -> dict[str, Any]:
        """The recipe with every default filled in, paths as strings."""
        return {key: _plain(value) for key, value in asdict(self).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
