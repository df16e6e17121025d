"""Bundle: an opened bundle folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from redraft._core.errors import InputFileError, UsageError
from redraft.export.graph_spec import GraphSpec, Role

from .check_files import FileProblem, check_files, require_files
from .manifest import EngineEntry, Manifest, Part
from .manifest_io import read_manifest

TOKENIZER_FOLDER = "tokenizer"
VOCAB_MAP_FILE = "vocab_map.safetensors"
PRIOR_FILE = "rdk_prior.safetensors"
ENGINES_FOLDER = "engines"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A folder and its manifest. All paths in the manifest are relative, so the folder can be moved."""

    folder: Path
    manifest: Manifest

    @staticmethod
    def open(path: str | Path) -> Bundle:
        """The bundle in folder `path`, its manifest read and the sizes of its files checked.

        Engines are checked when they are loaded: a lost one can be built again.

        InputFileError where it is no bundle, or a file is missing or truncated; MismatchError for another
        schema version.
        """
        folder = Path(path).expanduser().resolve()
        manifest = read_manifest(folder)
        require_files(folder, manifest, beside=ENGINES_FOLDER)
        return Bundle(folder, manifest)

    def check_files(self) -> list[FileProblem]:
        """Every file whose digest differs from the manifest; reads all of them."""
        return list(check_files(self.folder, self.manifest, digests=True))

    def part(self, role: Role) -> Part:
        """The manifest's entry for `role`; UsageError where the bundle has no drafter."""
        part = self.manifest.target if role == "target" else self.manifest.drafter
        if part is None:
            raise UsageError(
                f"bundle {self.folder} has no {role}", hint="decode without speculation, or compile one"
            )
        return part

    def graph_folder(self, role: Role) -> Path:
        """The folder of the canonical graph."""
        return self.folder / self.part(role).folder

    def spec(self, role: Role) -> GraphSpec:
        """The specification of the canonical graph."""
        return GraphSpec.read(self.graph_folder(role))

    def engines(self, role: Role) -> list[EngineEntry]:
        """The engines built for `role`, in the manifest's order."""
        return [entry for entry in self.manifest.engines if entry.role == role]

    @property
    def tokenizer_folder(self) -> Path:
        """tokenizer.json, tokenizer_config.json, chat_template.jinja, tokens.json."""
        return self.folder / TOKENIZER_FOLDER

    @property
    def vocab_map_file(self) -> Path:
        """The drafter's vocabulary map; InputFileError where the bundle has none."""
        return self._existing(VOCAB_MAP_FILE)

    @property
    def prior_file(self) -> Path:
        """The RDK prior; InputFileError where the bundle has none."""
        return self._existing(PRIOR_FILE)

    def _existing(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise InputFileError(f"bundle {self.folder} has no {name}")
        return path
