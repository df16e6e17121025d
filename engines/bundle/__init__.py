"""Bundle: the folder that a recipe compiles to, described by its manifest."""

from .bundle import Bundle
from .check_files import FileProblem, check_files
from .install_engine import install_engine
from .load_engine import load_engine
from .manifest import (
    MANIFEST_FILE,
    SCHEMA_VERSION,
    EngineEntry,
    FileEntry,
    Manifest,
    Part,
    PriorEntry,
    SourceEntry,
)
from .manifest_io import describe_files, read_manifest, write_manifest

__all__ = [
    "MANIFEST_FILE",
    "SCHEMA_VERSION",
    "Bundle",
    "EngineEntry",
    "FileEntry",
    "FileProblem",
    "Manifest",
    "Part",
    "PriorEntry",
    "SourceEntry",
    "check_files",
    "describe_files",
    "install_engine",
    "load_engine",
    "read_manifest",
    "write_manifest",
]
