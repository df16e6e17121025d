"""The step that runs both models along the calibration text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from redraft.cli.output import progress
from redraft.engines import Engine, get_backend

from .engine_steps import calibration_backend
from .graph_steps import TOKENIZER, plain_precision
from .identity import file_identity
from .journal import remove
from .text_step import TEXT_FILE, load_options, load_text
from .work import Work

if TYPE_CHECKING:
    from redraft.rdk.statistics import CalibrationStatistics

STATISTICS_FILE = "calibration/statistics.safetensors"
_BODY = ".body"


def collect(
    work: Work, target: dict[str, Any], engines: dict[str, dict[str, Any]], text: dict[str, Any]
) -> dict[str, Any]:
    """Write `calibration/statistics.safetensors`; facts: its digest.

    The drafter's body runs with a head of one row: what enters the head does not depend on the rows kept.
    """
    backend = calibration_backend(work)

    def run() -> dict[str, Any]:
        from redraft.rdk.vocabulary import TokenizerInfo
        from redraft.runtime.calibration import collect_statistics

        size = TokenizerInfo.read(work.folder / TOKENIZER).size
        loaded = load_text(work.folder / TEXT_FILE)
        folder = work.folder / engines[backend]["folder"]
        with (
            get_backend(backend).load(folder, load_options(work)) as engine,
            _body(work, backend) as body,
            progress("positions") as advance,
        ):
            found = collect_statistics(
                engine,
                loaded,
                drafter=body,
                num_tokens=size,
                seed=work.recipe.calibration.seed,
                progress=advance,
            )
        found.save(work.folder / STATISTICS_FILE)
        return {"digest": file_identity(work.folder / STATISTICS_FILE)}

    inputs = {
        "target": target["digest"],
        "text": text["digest"],
        "drafter": work.drafter_identity,
        "precision": plain_precision(work.drafter_precision),
        "drop_layers": list(work.recipe.drafter.drop_layers),
    }
    title = "statistics of both models along the text"
    return work.step("statistics", title, inputs=inputs, layer="runtime", outputs=[STATISTICS_FILE], run=run)


def load_statistics(work: Work) -> CalibrationStatistics:
    """What `collect` wrote."""
    from redraft.rdk.statistics import CalibrationStatistics

    return CalibrationStatistics.load(work.folder / STATISTICS_FILE)


@contextmanager
def _body(work: Work, backend_name: str) -> Iterator[Engine]:
    """An engine of the drafter's body with a head of one row, gone afterwards."""
    from redraft.export import drafter_body_digest, export_drafter
    from redraft.rdk.prior import RdkPrior
    from redraft.rdk.vocabulary import VocabMap

    folder = work.folder / _BODY
    remove(folder)
    try:
        least = VocabMap(np.zeros(1, dtype=np.int32), 1, "")
        precision, drop = work.drafter_precision, work.recipe.drafter.drop_layers
        prior = RdkPrior("tli", least.digest, drafter_body_digest(work.drafter, precision, drop))
        graph = folder / "graph"
        export_drafter(work.drafter, graph, precision, least, prior, drop_layers=drop, outputs=("hidden",))
        backend, built = get_backend(backend_name), folder / "engine"
        built.mkdir()
        backend.build(graph, built, work.profile)
        with backend.load(built, load_options(work)) as engine:
            yield engine
    finally:
        remove(folder)
