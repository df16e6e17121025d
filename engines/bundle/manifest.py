"""Manifest: what a bundle is, of which files, from which sources, and what was built of it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MANIFEST_FILE = "manifest.json"
SCHEMA_VERSION = 1
"""Raised when an older reader could not make sense of the file."""


def _inside(path: str) -> str:
    parts = PurePosixPath(path)
    if not path or parts.is_absolute() or ".." in parts.parts or "\\" in path:
        raise ValueError(f"'{path}' is not a relative path inside the bundle")
    return path


RelativePath = Annotated[str, AfterValidator(_inside)]
"""POSIX path relative to the bundle's folder, never above it."""
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
"""Hex SHA-256."""
RoleName = Literal["target", "drafter"]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FileEntry(_Strict):
    """Size in bytes and digest of one file."""

    size: Annotated[int, Field(ge=0)]
    sha256: Digest


class SourceEntry(_Strict):
    """Where a model's weights came from."""

    uri: str
    revision: str | None = None
    format: str
    license: str | None = None
    license_files: tuple[RelativePath, ...] = ()
    quantized_bits: int | None = None


class PriorEntry(_Strict):
    """The RDK prior in a bundle."""

    kind: str
    digest: Digest
    fitted: bool = False


class Part(_Strict):
    """The canonical graph of one role. `folder` holds model.onnx, model.onnx.data and graph.json."""

    folder: RelativePath
    kind: Literal["target", "self", "model"]
    source: SourceEntry
    precision: str  # Precision.label
    variant: Literal["logits", "redistributed", "factored"]
    opset: int
    body_digest: Digest | None = None
    map_digest: Digest | None = None
    prior_digest: Digest | None = None


class ProfileEntry(_Strict):
    """Shapes that an engine was built for; see `redraft.engines.Profile`."""

    max_batch: Annotated[int, Field(ge=1)]
    max_prefill: Annotated[int, Field(ge=1)]
    max_decode: Annotated[int, Field(ge=1)]
    capacity: Annotated[int, Field(ge=1)]


class PluginEntry(_Strict):
    """A plugin library that an engine needs."""

    name: str
    version: str
    file: RelativePath
    sha256: Digest


class EngineEntry(_Strict):
    """One built engine. `folder` is engines/<backend>/<key>.

    `graph_digest` covers the canonical graph's files.
    """

    role: RoleName
    backend: str
    backend_version: str
    key: Annotated[str, Field(pattern="^[0-9a-f]{8,64}$")]
    folder: RelativePath
    graph_digest: Digest
    profile: ProfileEntry
    options: dict[str, Any] = {}
    passes: tuple[str, ...] = ()
    seconds: Annotated[float, Field(ge=0)] = 0.0
    sm: tuple[int, ...] = ()
    plugins: tuple[PluginEntry, ...] = ()


class Manifest(_Strict):
    """The whole of `manifest.json`. `files` has every file of the bundle but the manifest itself."""

    schema_version: Literal[1] = 1
    redraft_version: str
    name: str
    notice: str | None = None
    recipe: RelativePath | None = None
    tokenizer_digest: Digest | None = None
    map_digest: Digest | None = None
    prior: PriorEntry | None = None
    target: Part
    drafter: Part | None = None
    engines: tuple[EngineEntry, ...] = ()
    files: dict[RelativePath, FileEntry] = {}
    extra: dict[str, Any] = {}
