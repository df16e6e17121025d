"""Steps that build engines, and the choice of the backends."""

from __future__ import annotations

from typing import Any

from redraft._core.errors import UnavailableError
from redraft.engines import BACKENDS, DEFAULT_BACKEND, available_backends, get_backend
from redraft.engines.cache import build_cached, engine_key
from redraft.export.graph_spec import Role

from .work import Work

ENGINES = "engines"


def choose_backends(names: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """(the backends to build for, skipped backend -> reason). `all` stands for every backend.

    UsageError for an unknown name, UnavailableError where none of them works here.
    """
    wanted = list(BACKENDS) if "all" in names else list(dict.fromkeys(names))
    for name in wanted:
        get_backend(name)
    found = available_backends()
    chosen = tuple(name for name in wanted if found[name].ok)
    skipped = {name: found[name].reason for name in wanted if not found[name].ok}
    if not chosen:
        name, reason = next(iter(skipped.items()))
        raise UnavailableError(
            f"backend '{name}': {reason}", hint=found[name].hint or "`redraft doctor` says what works here"
        )
    return chosen, skipped


def calibration_backend(work: Work) -> str:
    """The backend that the steps decode on: the default one where it works, else the first chosen."""
    return DEFAULT_BACKEND if get_backend(DEFAULT_BACKEND).availability().ok else work.backends[0]


def build_engines(work: Work, role: Role, graph: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Build the graph that a step left for every chosen backend, and for the one that the steps decode on.

    Backend -> facts of the engine, as the manifest has them.
    """
    names = list(work.backends)
    if role == "target" and calibration_backend(work) not in names:
        names.insert(0, calibration_backend(work))
    return {name: _build(work, role, graph, name) for name in names}


def _build(work: Work, role: Role, graph: dict[str, Any], backend_name: str) -> dict[str, Any]:
    backend = get_backend(backend_name)
    key = engine_key(graph["digest"], backend, work.profile)
    folder = f"{ENGINES}/{backend_name}/{key}"

    def run() -> dict[str, Any]:
        built = build_cached(backend, work.folder / graph["folder"], work.profile, work.folder / ENGINES, key)
        (work.folder / ENGINES / backend_name / f".{key}.lock").unlink(missing_ok=True)
        report = built.report
        return {
            "role": role,
            "backend": backend_name,
            "backend_version": report.backend_version,
            "key": key,
            "folder": folder,
            "graph_digest": graph["digest"],
            "options": report.options,
            "passes": list(report.passes),
            "seconds": report.seconds,
        }

    title = f"{role} engine for {backend_name}"
    return work.step(title, title, inputs=key, layer="engines", outputs=[folder], run=run)
