"""`redraft demo`: one prompt, with the drafter and with the target alone, side by side."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redraft.cli import sampling_options as sampling
from redraft.cli.options import BackendName, BundleArgument, JsonFlag, Threads
from redraft.cli.output import note, print_fields, print_json

if TYPE_CHECKING:
    from redraft.runtime import LLM, RequestOutput

_WARM_UP_TOKENS = 8


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("demo")(demo)


def demo(
    bundle: BundleArgument,
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT")
    ] = "Explain in a few sentences why the sky is blue.",
    max_tokens: sampling.MaxTokens = 128,
    raw: sampling.Raw = False,
    num_speculative_tokens: sampling.NumSpeculativeTokens = None,
    draft_policy: sampling.DraftPolicy = None,
    backend: BackendName = None,
    threads: Threads = None,
    json_: JsonFlag = False,
) -> None:
    """Answer one prompt greedily, with the drafter and with the target alone, and compare text and speed.

    Where the two texts differ, the first difference is shown with the target's own margin there, and both are
    decoded again in the deterministic mode, in which they must be equal. Exits with 1 where they are not.
    """
    from redraft.runtime import LLM

    loading: dict[str, Any] = {
        "backend": backend,
        "threads": threads,
        "num_speculative_tokens": num_speculative_tokens,
        "draft_policy": draft_policy,
    }
    with LLM(bundle, **loading) as llm:
        ids = sampling.prompt_ids(llm.tokenizer, prompt, raw=raw)
        report = _compare(llm, ids, max_tokens)
    equal_when_deterministic = True
    if not report["agree"]:
        note("the texts differ in the default mode; decoding again in the deterministic mode")
        with LLM(bundle, deterministic=True, **loading) as llm:
            again = _compare(llm, ids, max_tokens)
        report["deterministic_agree"] = equal_when_deterministic = again["agree"]
    report = {"prompt": prompt, **report}
    if json_:
        print_json(report)
    else:
        _print(report)
    if not equal_when_deterministic:
        raise typer.Exit(1)


def _compare(llm: LLM, ids: list[int], max_tokens: int) -> dict[str, Any]:
    for speculative in (True, False):
        _answer(llm, ids, _WARM_UP_TOKENS, speculative)
    drafted, drafted_speed = _answer(llm, ids, max_tokens, True)
    plain, plain_speed = _answer(llm, ids, max_tokens, False)
    texts = drafted.outputs[0], plain.outputs[0]
    agree = texts[0].token_ids == texts[1].token_ids
    report: dict[str, Any] = {
        "text": texts[0].text,
        "target_only_text": texts[1].text,
        "agree": agree,
        "tokens": len(texts[0].token_ids),
        "tokens_per_second": {"speculative": drafted_speed, "target_only": plain_speed},
        "speedup": drafted_speed / plain_speed,
        "acceptance_rate": drafted.stats.acceptance_rate,
        "mean_acceptance_length": drafted.stats.mean_acceptance_length,
        "mean_accepted_drafts": drafted.stats.mean_accepted_drafts,
        "oov": {"proposed": drafted.stats.oov_proposed, "accepted": drafted.stats.oov_accepted},
        "target_mass_outside": drafted.stats.mean_target_mass_outside,
    }
    if not agree:
        report["divergence"] = _divergence(llm, ids, *(text.token_ids for text in texts))
    return report


def _answer(llm: LLM, ids: list[int], max_tokens: int, speculative: bool) -> tuple[RequestOutput, float]:
    """The output, and tokens per second without the time for the prompt."""
    from redraft.runtime import SamplingParams

    start = perf_counter()
    (output,) = llm.generate(
        ids, SamplingParams(temperature=0, max_tokens=max_tokens), speculative=speculative
    )
    seconds = perf_counter() - start - output.stats.seconds["prefill"]
    return output, output.usage.completion_tokens / max(seconds, 1e-9)


def _divergence(llm: LLM, ids: list[int], drafted: list[int], plain: list[int]) -> dict[str, Any]:
    """Where the two texts part, and how far apart the target's two best logits are there."""
    import numpy as np

    pairs = zip(drafted, plain, strict=False)
    position = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(drafted), len(plain)))
    target = llm.decoder.target
    target.rollback(0)
    row = target.extend([*ids, *plain[:position]])[0]
    best = np.sort(row)[-2:]
    return {"position": position, "top2_margin": float(best[1] - best[0])}


def _print(report: dict[str, Any]) -> None:
    print(f"prompt:\n  {report['prompt']}\n")
    print(f"text (target and drafter):\n{_indented(report['text'])}\n")
    print(f"text (target alone):\n{_indented(report['target_only_text'])}\n")
    speeds = report["tokens_per_second"]
    fields: dict[str, Any] = {
        "texts agree, token for token": report["agree"],
        "tokens": report["tokens"],
        "tokens/s, target and drafter": f"{speeds['speculative']:.1f}",
        "tokens/s, target alone": f"{speeds['target_only']:.1f}",
        "speed-up": f"{report['speedup']:.2f}",
        "acceptance rate": f"{report['acceptance_rate']:.3f}",
        "mean acceptance length (with the bonus token)": f"{report['mean_acceptance_length']:.2f}",
        "mean accepted drafts (without)": f"{report['mean_accepted_drafts']:.2f}",
        "proposed outside the drafter's vocabulary": report["oov"]["proposed"],
        "accepted outside the drafter's vocabulary": report["oov"]["accepted"],
        "target probability outside the drafter's vocabulary": f"{report['target_mass_outside']:.3f}",
    }
    if not report["agree"]:
        divergence = report["divergence"]
        fields["first difference at token"] = divergence["position"]
        fields["the target's top-2 margin there"] = f"{divergence['top2_margin']:.2g}"
        fields["agree in the deterministic mode"] = report["deterministic_agree"]
    print_fields(fields)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
