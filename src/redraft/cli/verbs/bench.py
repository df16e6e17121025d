"""`redraft bench`: speed and acceptance of a bundle, against its own target alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redraft.cli import sampling_options as sampling
from redraft.cli.options import (
    BackendName,
    BundleArgument,
    CacheCapacity,
    ContextLength,
    JsonFlag,
    PrintConfigFlag,
    SpeculativeConfig,
    Threads,
)
from redraft.cli.output import note, print_fields, print_json, size_text

if TYPE_CHECKING:
    from redraft.runtime.profiling import BenchReport


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("bench")(bench)


def bench(
    bundle: BundleArgument,
    prompts: Annotated[
        Path | None,
        typer.Option("--prompts", help="A text file, one prompt a line. [default: ten built-in ones]"),
    ] = None,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=1, help="Tokens that each prompt writes.")
    ] = 128,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Runs of each prompt; medians count.")] = 3,
    temperature: sampling.Temperature = 0.0,
    top_k: sampling.TopK = 0,
    top_p: sampling.TopP = 1.0,
    min_p: sampling.MinP = 0.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of sampled runs.")] = 0,
    num_speculative_tokens: sampling.NumSpeculativeTokens = None,
    draft_policy: sampling.DraftPolicy = None,
    speculative_config: SpeculativeConfig = None,
    deterministic: sampling.Deterministic = False,
    backend: BackendName = None,
    context: ContextLength = None,
    cache_capacity: CacheCapacity = None,
    threads: Threads = None,
    memory: Annotated[bool, typer.Option("--memory/--no-memory", help="Measure peak memory too.")] = True,
    print_config: PrintConfigFlag = False,
    json_: JsonFlag = False,
) -> None:
    """Measure plain and speculative decoding in turn, in one run, and compare their texts.

    Exits with 1 where greedy texts differ by more than near-ties of the target.
    """
    from redraft.runtime import SamplingParams
    from redraft.runtime.profiling import BENCH_PROMPTS, BenchSettings
    from redraft.runtime.profiling import bench as run

    params = SamplingParams(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=seed)
    settings = BenchSettings(max_tokens=max_tokens, repeats=repeats, sampling=params, with_memory=memory)
    loading: dict[str, Any] = {
        "context": context,
        "cache_capacity": cache_capacity,
        "threads": threads,
        "num_speculative_tokens": num_speculative_tokens,
        "draft_policy": draft_policy,
        "speculative_config": sampling.parse_speculative_config(speculative_config),
    }
    opened, options = sampling.resolved_options(bundle, **loading, speculative=True)
    texts = BENCH_PROMPTS if prompts is None else _read_prompts(prompts)
    if print_config:
        print_json(
            {
                "bundle": str(opened.folder),
                "options": {"backend": backend or "ort-cpu", "deterministic": deterministic, **options},
                "bench": {"prompts": len(texts), "max_tokens": max_tokens, "repeats": repeats, "seed": seed},
            }
        )
        return
    loading |= {"backend": backend, "deterministic": deterministic}
    report = run(opened, texts, settings, options=loading, report=lambda line: note(f"  {line} …"))
    if json_:
        print_json(report.to_json())
    else:
        _print(report)
    if not all(found.near_tie for found in report.divergences):
        raise typer.Exit(1)


def _read_prompts(path: Path) -> tuple[str, ...]:
    from redraft.runtime.calibration import read_prompts

    return tuple(prompt.text for prompt in read_prompts(path))


def _print(report: BenchReport) -> None:
    low, high = report.speedup.interval
    settings = report.settings
    fields: dict[str, Any] = {
        "bundle": report.bundle,
        "target": f"{report.target.precision}, {report.target.source} ({report.target.source_format})",
        "drafter": "-"
        if report.drafter is None
        else f"{report.drafter.precision}, {report.drafter.quantization}",
        "prompts, tokens, repeats": f"{settings.prompts}, {settings.max_tokens}, {settings.repeats}",
        "plain tokens/s": f"{report.plain.tokens_per_second:.1f}",
        "speculative tokens/s": f"{report.speculative.tokens_per_second:.1f}",
        "speed-up observed": f"{report.speedup.observed:.2f} (95 % interval {low:.2f} to {high:.2f})",
        "speed-up predicted": report.speedup.predicted,
        "texts identical": report.identical,
        "divergences": f"{len(report.divergences)}, near-ties {sum(d.near_tie for d in report.divergences)}",
        "acceptance rate": f"{report.acceptance_rate:.3f}",
        "mean acceptance length": f"{report.mean_acceptance_length:.2f} (with the bonus token)",
        "mean accepted drafts": f"{report.mean_accepted_drafts:.2f} (without)",
        "outside the vocabulary map": f"{report.oov.proposed} proposed, {report.oov.accepted} accepted",
        "draft call": "-" if report.costs.t_draft_ms is None else f"{report.costs.t_draft_ms:.1f} ms",
        "target call by width": ", ".join(f"{w}: {ms:.1f} ms" for w, ms in report.costs.t_verify_ms.items()),
    }
    for name, overhead in report.overhead.items():
        fields[f"outside the engines, {name}"] = f"{overhead.share:.1%} of a round"
    if report.memory is not None:
        peak = size_text(report.memory.peak_above_imports_bytes)
        fields["peak memory"] = f"{peak}, {report.memory.ratio:.2f} x weights and caches"
    print_fields(fields)
