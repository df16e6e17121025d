"""Speculative against plain decoding of the compiled bundles, with the bars that redraft sets itself.

    python -m benchmarks.speculation [--quick] [BUNDLE ...]

Prints the bars on stderr and one JSON document on stdout. Greedy outputs must agree, up to near-ties of the
target, before any figure counts. Exits with 1 where they do not; a missed bar is reported, not an error.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.bars import MAX_MEMORY, MAX_OVERHEAD, SPECULATIVE_BARS, describe

from redraft.runtime.profiling import BENCH_PROMPTS, BenchReport, BenchSettings, bench

DEFAULT_BUNDLES = tuple(Path("bundles") / name for name in SPECULATIVE_BARS)


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(prog="benchmarks.speculation", description=__doc__.splitlines()[0])
    parser.add_argument(
        "bundles", nargs="*", type=Path, help="default: those of the recipes that are compiled"
    )
    parser.add_argument("--threads", type=int)
    parser.add_argument(
        "--quick", action="store_true", help="two prompts, 32 tokens, once: does everything work?"
    )
    options = parser.parse_args()
    prompts = BENCH_PROMPTS[:2] if options.quick else BENCH_PROMPTS
    settings = BenchSettings(max_tokens=32, repeats=1, cost_repeats=5) if options.quick else BenchSettings()
    found = [path for path in options.bundles or DEFAULT_BUNDLES if (path / "manifest.json").is_file()]
    if not found:
        raise SystemExit("no bundle to measure: compile one with `make demo`")
    results: dict[str, Any] = {}
    for path in found:
        report = bench(path, prompts, settings, options={"threads": options.threads}, report=_say)
        bars = bundle_bars(report)
        _say(f"{report.bundle}: {report.speculative.tokens_per_second:.1f} tokens/s, "
             f"plain {report.plain.tokens_per_second:.1f}")  # fmt: skip
        for bar in bars:
            _say(f"  {bar['sentence']}")
        results[report.bundle] = {"bars": bars, "report": report.to_json()}
    print(json.dumps({"benchmark": "speculation", "schema_version": 1, "results": results}, indent=1))
    wrong = [name for name, item in results.items() if not _agrees(item["report"])]
    if wrong:
        raise SystemExit(f"outputs differ by more than near-ties: {', '.join(wrong)}")


def bundle_bars(report: BenchReport) -> list[dict[str, Any]]:
    """The bars that this report can be held to."""
    bars = []
    if report.bundle in SPECULATIVE_BARS:
        bars.append(describe("speculative / plain", report.speedup.observed, SPECULATIVE_BARS[report.bundle]))
    for name in ("greedy", "temperature"):
        if name in report.overhead:
            share = report.overhead[name].share
            bars.append(describe(f"share outside the engines, {name}", share, MAX_OVERHEAD, at_most=True))
    if report.memory is not None:
        bars.append(
            describe("peak memory / (weights + caches)", report.memory.ratio, MAX_MEMORY, at_most=True)
        )
    return bars


def _agrees(report: dict[str, Any]) -> bool:
    return report["identical"] or all(item["near_tie"] for item in report["divergences"])


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
