"""`bench`: plain and speculative decoding of the same prompts in turn, in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redraft._core.digest import digest_json
from redraft._core.errors import UsageError
from redraft.engines.bundle import Bundle
from redraft.runtime.decoding import DecodingStats, acceptance_rule, compare_runs
from redraft.runtime.llm import LLM
from redraft.runtime.sampling_params import SamplingParams

from .call_costs import call_costs, predicted_speedup
from .described_bundle import describe_digests, describe_part, kept_share
from .environment import describe_environment
from .memory import measure_memory
from .overhead import measure_overhead
from .prompts import BENCH_PROMPTS, encode_prompt
from .report import BenchReport, Divergence, OutOfVocabulary, Request, Settings, Speedup
from .summary import bootstrap_interval, median, speed
from .timed_request import TimedRequest, time_request

_WARM_UP_TOKENS = 8
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BenchSettings:
    """What to measure. Every prompt writes exactly `max_tokens` tokens unless the context ends before."""

    max_tokens: int = 128
    repeats: int = 3
    sampling: SamplingParams = field(default_factory=lambda: SamplingParams(temperature=0, seed=0))
    with_memory: bool = True
    with_overhead: bool = True
    cost_repeats: int = 15


@dataclass(slots=True)
class _Prompt:
    """One prompt's runs, a plain and a speculative one for each repeat."""

    ids: list[int]
    plain: list[TimedRequest] = field(default_factory=list)
    speculative: list[TimedRequest] = field(default_factory=list)

    @property
    def is_identical(self) -> bool:
        """Whether every output of every repeat is the same."""
        return len({tuple(run.token_ids) for run in self.plain + self.speculative}) == 1

    @property
    def speedup(self) -> float:
        """Median speculative over median plain rate."""
        return median(run.tokens_per_second for run in self.speculative) / median(
            run.tokens_per_second for run in self.plain
        )


def bench(
    bundle: str | Path | Bundle,
    prompts: Sequence[str] = BENCH_PROMPTS,
    settings: BenchSettings | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    report: Report | None = None,
) -> BenchReport:
    """Speed, acceptance and costs of a bundle, always against its own target alone.

    Each prompt is decoded plainly and speculatively in turn, the order changing from repeat to repeat, after
    a warm-up; figures are medians over repeats, then over prompts.

    Args:
        prompts: asked through the chat template where the model has one.
        options: keyword arguments of `LLM` (backend, threads, num_speculative_tokens, deterministic, …).
        report: called with a line about what runs next.

    Raises:
        UsageError: no prompt, no repeat, or a bundle without a drafter.
    """
    settings = settings or BenchSettings()
    opened = bundle if isinstance(bundle, Bundle) else Bundle.open(bundle)
    options = dict(options or {})
    if not prompts or settings.repeats < 1:
        raise UsageError("bench needs at least one prompt and one repeat")
    tell = report or (lambda line: None)
    with LLM(opened, **options) as llm:
        if llm.decoder.drafter is None:
            raise UsageError(
                "bench compares plain with speculative decoding, but no drafter is loaded",
                hint="bench a bundle with a drafter and num_speculative_tokens of at least 1",
            )
        runs = [_Prompt(encode_prompt(llm.tokenizer, prompt)) for prompt in prompts]
        _time_prompts(llm, runs, settings, tell)
        tell("comparing outputs")
        divergences = _divergences(llm, runs, settings)
        tell("timing engine calls")
        costs = call_costs(llm.decoder, repeats=settings.cost_repeats)
        tell("timing the loop outside the engines")
        overhead = measure_overhead(llm, runs[0].ids, settings.max_tokens) if settings.with_overhead else {}
        if settings.with_memory:
            tell("measuring memory in a process of its own")
        memory = measure_memory(opened.folder, options) if settings.with_memory else None
        stats = _merged(run.stats for prompt in runs for run in prompt.speculative)
        backend = llm.decoder.target.engine.backend
        is_greedy = settings.sampling.temperature == 0
        rounds = max(stats.rounds, 1)
        ratios = [prompt.speedup for prompt in runs]
        return BenchReport(
            bundle=opened.manifest.name,
            target=describe_part(opened, "target", backend),
            drafter=describe_part(opened, "drafter", backend),
            rdk=None if opened.manifest.prior is None else opened.manifest.prior.kind,
            keep=kept_share(opened),
            plain=speed([prompt.plain for prompt in runs]),
            speculative=speed([prompt.speculative for prompt in runs]),
            speedup=Speedup(
                observed=median(ratios),
                interval=bootstrap_interval(ratios),
                predicted=predicted_speedup(costs, stats.drafted / rounds, stats.emitted / rounds),
            ),
            identical=all(prompt.is_identical for prompt in runs) if is_greedy else None,
            divergences=divergences,
            acceptance_rule=acceptance_rule.NAME,
            acceptance_rate=stats.acceptance_rate,
            mean_acceptance_length=stats.mean_acceptance_length,
            mean_accepted_drafts=stats.mean_accepted_drafts,
            acceptance=_acceptance(stats),
            oov=OutOfVocabulary(proposed=stats.oov_proposed, accepted=stats.oov_accepted),
            costs=costs,
            overhead=overhead,
            memory=memory,
            requests=tuple(_request(index, prompt, is_greedy) for index, prompt in enumerate(runs)),
            settings=_settings(llm, settings, len(prompts)),
            digests=describe_digests(opened, digest_json(list(prompts))),
            environment=describe_environment(llm.options.threads),
        )


def _time_prompts(llm: LLM, runs: Sequence[_Prompt], settings: BenchSettings, tell: Report) -> None:
    for speculative in (False, True):
        time_request(llm, runs[0].ids, _params(settings, _WARM_UP_TOKENS), speculative=speculative)
    params = _params(settings, settings.max_tokens)
    for repeat in range(settings.repeats):
        for index, prompt in enumerate(runs):
            tell(f"prompt {index + 1} of {len(runs)}, repeat {repeat + 1} of {settings.repeats}")
            for speculative in (False, True) if (index + repeat) % 2 == 0 else (True, False):
                timed = time_request(llm, prompt.ids, params, speculative=speculative)
                (prompt.speculative if speculative else prompt.plain).append(timed)


def _params(settings: BenchSettings, max_tokens: int) -> SamplingParams:
    from dataclasses import replace

    return replace(settings.sampling, max_tokens=max_tokens, ignore_eos=True)


def _divergences(llm: LLM, runs: Sequence[_Prompt], settings: BenchSettings) -> tuple[Divergence, ...]:
    if settings.sampling.temperature != 0:
        return ()
    found = []
    for index, prompt in enumerate(runs):
        first, second = prompt.plain[0].token_ids, prompt.speculative[0].token_ids
        parted = compare_runs(llm.decoder, prompt.ids, first, second)
        if parted is not None:
            found.append(
                Divergence(
                    prompt=index,
                    position=parted.position,
                    margin=parted.margin,
                    near_tie=parted.is_near_tie,
                    token_ids=parted.token_ids,
                    top_ids=parted.top_ids,
                )
            )
    return tuple(found)


def _merged(all_stats: Any) -> DecodingStats:
    total = DecodingStats()
    for stats in all_stats:
        total.merge(stats)
    return total


def _acceptance(stats: DecodingStats) -> dict[str, Any]:
    kept = (
        "rounds",
        "drafted",
        "accepted",
        "drafted_per_position",
        "accepted_per_position",
        "accepted_histogram",
        "target_mass_outside",
        "redistributed_mass",
    )
    values = stats.to_json()
    return {name: values[name] for name in kept}


def _request(index: int, prompt: _Prompt, is_greedy: bool) -> Request:
    return Request(
        prompt=index,
        prompt_tokens=len(prompt.ids),
        tokens=len(prompt.speculative[0].token_ids),
        plain_tokens_per_second=median(run.tokens_per_second for run in prompt.plain),
        speculative_tokens_per_second=median(run.tokens_per_second for run in prompt.speculative),
        acceptance_rate=prompt.speculative[0].stats.acceptance_rate,
        identical=prompt.is_identical if is_greedy else None,
    )


def _settings(llm: LLM, settings: BenchSettings, num_prompts: int) -> Settings:
    sampling = settings.sampling
    return Settings(
        prompts=num_prompts,
        max_tokens=settings.max_tokens,
        repeats=settings.repeats,
        temperature=sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        min_p=sampling.min_p,
        seed=sampling.seed or 0,
        num_speculative_tokens=llm.decoder.max_drafts,
        draft_policy=llm.decoder.draft_policy,
        deterministic=llm.decoder.deterministic,
        context=llm.context,
    )
