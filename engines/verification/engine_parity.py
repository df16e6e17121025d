"""An engine against its canonical graph, on real tokens and a warm cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft.engines.base import Engine

from .call_plan import NUM_TOKENS, plan_calls
from .canonical_runner import CanonicalRunner
from .check import Check
from .logit_figures import LogitFigures, compare_logits
from .scan import scan_arrays
from .tolerance import Tolerance, engine_tolerance

_CAPACITY = NUM_TOKENS + 27


def check_engine(
    engine: Engine, graph: Path, target_ids: Sequence[int], *, max_width: int | None = None
) -> list[Check]:
    """Parity of `engine` with the canonical graph in folder `graph`, and a scan of what it computed.

    Both run the same calls (`call_plan`): a prompt, then one, several and again one token on the warm cache.

    Args:
        target_ids: text, at least `NUM_TOKENS` ids.
        max_width: widest call that the engine takes.
    """
    runner = CanonicalRunner(graph, capacity=_CAPACITY)
    cache = engine.allocate_cache(1, _CAPACITY)
    actual: dict[str, list[NDArray[Any]]] = {}
    expected: dict[str, list[NDArray[Any]]] = {}
    for call in plan_calls(target_ids, max_width=max_width):
        for kept, outputs in ((actual, engine.run(call, cache)), (expected, runner.run(call))):
            for name, value in outputs.items():
                kept.setdefault(name, []).append(np.array(value[0]))
    rows = {name: np.concatenate(values) for name, values in actual.items()}
    label = f"{engine.spec.role} on {engine.backend}"
    logits = next(name for name in rows if name.endswith("logits"))
    tolerance = engine_tolerance(engine.spec)
    figures = compare_logits(rows[logits], np.concatenate(expected[logits]), tolerance)
    scanned = dict(rows)
    for layer in range(engine.spec.num_layers):
        for part, array in zip(("key", "value"), cache.read(layer), strict=True):
            scanned[f"cache.{layer}.{part}"] = array
    return [
        Check(
            f"{label}: parity with its graph",
            figures.within(tolerance),
            _sentence(figures),
            {**figures.to_json(), "tolerance": _tolerance_json(tolerance)},
        ),
        scan_arrays(f"{label}: finite values", scanned),
    ]


def _sentence(figures: LogitFigures) -> str:
    return (
        f"{figures.rows} rows: largest logit error {figures.max_abs_error:.2g}, best token equal in "
        f"{figures.argmax_agreement:.1%}, divergence at most {figures.max_kl:.2g} nats"
    )


def _tolerance_json(tolerance: Tolerance) -> dict[str, float]:
    return asdict(tolerance)
