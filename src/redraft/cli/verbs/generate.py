"""`redraft generate`: text from a bundle."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redraft._core.errors import RequestError
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
from redraft.cli.output import note, print_json

if TYPE_CHECKING:
    from redraft.runtime import LLM, RequestOutput, SamplingParams


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("generate")(generate)


def generate(
    bundle: BundleArgument,
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="The prompt; `-` reads it from stdin.")],
    system: Annotated[
        str | None, typer.Option("--system", help="A system message before the prompt.")
    ] = None,
    raw: sampling.Raw = False,
    max_tokens: sampling.MaxTokens = 256,
    temperature: sampling.Temperature = 0.0,
    top_k: sampling.TopK = 0,
    top_p: sampling.TopP = 1.0,
    min_p: sampling.MinP = 0.0,
    seed: sampling.Seed = None,
    stop: Annotated[
        list[str] | None, typer.Option("--stop", help="End the text here; may be given several times.")
    ] = None,
    stop_token_ids: Annotated[
        list[int] | None,
        typer.Option("--stop-token-id", help="End at this token; may be given several times."),
    ] = None,
    ignore_eos: Annotated[
        bool, typer.Option("--ignore-eos", help="Go on after the model's own end token.")
    ] = False,
    num_speculative_tokens: sampling.NumSpeculativeTokens = None,
    draft_policy: sampling.DraftPolicy = None,
    speculative_config: SpeculativeConfig = None,
    no_speculation: sampling.NoSpeculation = False,
    deterministic: sampling.Deterministic = False,
    backend: BackendName = None,
    context: ContextLength = None,
    cache_capacity: CacheCapacity = None,
    threads: Threads = None,
    stats: Annotated[bool, typer.Option("--stats", help="Print speed and acceptance on stderr.")] = False,
    print_config: PrintConfigFlag = False,
    json_: JsonFlag = False,
) -> None:
    """Write text with a bundle, on stdout as it comes.

    The prompt goes through the model's chat template where it has one. With --json: text, token ids, finish
    reason, usage and acceptance statistics.
    """
    from redraft.runtime import LLM, SamplingParams

    text = sys.stdin.read() if prompt == "-" else prompt
    if not text:
        raise RequestError("the prompt is empty", param="prompt")
    params = SamplingParams(
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        seed=seed,
        stop=stop or None,
        stop_token_ids=stop_token_ids or None,
        ignore_eos=ignore_eos,
        max_tokens=max_tokens,
    )
    loading: dict[str, Any] = {
        "context": context,
        "cache_capacity": cache_capacity,
        "threads": threads,
        "num_speculative_tokens": num_speculative_tokens,
        "draft_policy": draft_policy,
        "speculative": not no_speculation,
        "speculative_config": sampling.parse_speculative_config(speculative_config),
    }
    opened, options = sampling.resolved_options(bundle, **loading)
    if print_config:
        settings = {"backend": backend or "ort-cpu", "deterministic": deterministic, **options}
        print_json({"bundle": str(opened.folder), "options": settings, "sampling": asdict(params)})
        return
    with LLM(opened, backend=backend, deterministic=deterministic, **loading) as llm:
        ids = sampling.prompt_ids(llm.tokenizer, text, raw=raw, system=system)
        output = _write(llm, ids, params, quiet=json_)
    if json_:
        print_json(_document(output))
    elif stats:
        _note_stats(output)


def _write(llm: LLM, ids: list[int], params: SamplingParams, *, quiet: bool) -> RequestOutput:
    """Stream the text to stdout unless `quiet`; the whole output."""
    output = None
    with llm.stream(ids, params) as stream:
        for delta in stream:
            if not quiet:
                print(delta.text, end="", flush=True)
            output = delta.output
    assert output is not None, "a stream ends with its output"
    if not quiet:
        print()
    return output


def _document(output: RequestOutput) -> dict[str, Any]:
    completion = output.outputs[0]
    return {
        "text": completion.text,
        "token_ids": completion.token_ids,
        "finish_reason": completion.finish_reason,
        "stop_reason": completion.stop_reason,
        "seed": output.seed,
        "usage": output.usage.to_json(),
        "acceptance": output.stats.to_json(),
    }


def _note_stats(output: RequestOutput) -> None:
    stats, tokens = output.stats, output.usage.completion_tokens
    seconds = sum(value for name, value in stats.seconds.items() if name != "prefill")
    note(
        f"{tokens} tokens, {tokens / max(seconds, 1e-9):.1f} tokens/s after the prompt; "
        f"acceptance rate {stats.acceptance_rate:.3f}, "
        f"mean acceptance length {stats.mean_acceptance_length:.2f}, "
        f"outside the drafter's vocabulary: {stats.oov_proposed} proposed, {stats.oov_accepted} accepted"
    )
