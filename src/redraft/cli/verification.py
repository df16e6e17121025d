"""The checks of `redraft verify`, and of every compilation's last step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from redraft._core.errors import RedraftError
from redraft.engines import LoadOptions, get_backend
from redraft.engines.bundle import Bundle, EngineEntry, load_engine
from redraft.engines.verification import Check, check_belonging
from redraft.export.graph_spec import Role

if TYPE_CHECKING:
    from redraft.runtime.text import TextTokenizer

PROMPTS = (
    "Explain in a few sentences why the sky is blue.",
    "Write a short letter to a friend who has moved away.",
    "List five uses of a paper clip.",
)
_TEXT = (
    "The river rises in the hills, and by the time it reaches the sea it has passed eleven towns, two "
    "cities and more bridges than anyone has counted. In 1847 a flood took the largest of them; the new "
    "one, of iron, was opened 3 years later. Nobody knows who designed it. Some say it was the mayor's "
    "daughter, who had studied abroad and never told a soul."
)
_EXACT_TOKENS = 48
Report = Callable[[str], None]


def verify(
    bundle: Bundle, *, thorough: bool, threads: int | None = None, report: Report | None = None
) -> list[Check]:
    """Every check, in order; `report` is called with a line before each.

    Engines against their graphs, values that are not finite, caches after a rollback, greedy speculation
    against plain decoding. `thorough` adds all digests and the graphs against their checkpoints.
    """
    checks: list[Check] = []
    for label, check in _plan(bundle, thorough, threads):
        if report is not None:
            report(label)
        try:
            checks += check()
        except RedraftError as error:
            checks.append(Check(label, False, error.message))
    return checks


def _plan(
    bundle: Bundle, thorough: bool, threads: int | None
) -> Iterator[tuple[str, Callable[[], list[Check]]]]:
    options = LoadOptions(threads=threads)
    if thorough:
        yield "files", lambda: [_check_files(bundle)]
        yield "map, prior, body and graphs belong together", lambda: [check_belonging(bundle)]
        for role in _roles(bundle):
            label = f"{role} graph: parity with its checkpoint"
            yield label, lambda role=role, label=label: [_check_graph(bundle, role, label)]  # type: ignore[misc]
    for entry in bundle.manifest.engines:
        label = f"{entry.role} on {entry.backend}: parity with its graph"
        yield label, lambda entry=entry: _check_engine(bundle, entry, options)  # type: ignore[misc]
    if bundle.manifest.drafter is not None:
        yield "speculation: greedy text equals plain decoding", lambda: _check_exactness(bundle, threads)


def _check_files(bundle: Bundle) -> Check:
    problems = bundle.check_files()
    sentence = f"all {len(bundle.manifest.files)} files have the manifest's digests"
    if problems:
        sentence = "; ".join(f"{problem.path} {problem.reason}" for problem in problems[:3])
    return Check("files", not problems, sentence, {"problems": len(problems)})


def _check_graph(bundle: Bundle, role: Role, label: str) -> Check:
    from redraft.engines.verification.graph_parity import check_graph
    from redraft.export.checkpoint import open_checkpoint
    from redraft.rdk.prior import load_prior
    from redraft.rdk.vocabulary import VocabMap

    uri = bundle.part(role).source.uri
    try:
        checkpoint = open_checkpoint(uri)
    except RedraftError as error:
        return Check(label, None, f"not checked: {error.message}")
    ids = _token_ids(bundle)
    if role == "target":
        return check_graph(bundle.graph_folder(role), checkpoint, ids)
    vocab_map, prior = VocabMap.load(bundle.vocab_map_file), load_prior(bundle.prior_file)
    return check_graph(bundle.graph_folder(role), checkpoint, ids, vocab_map=vocab_map, prior=prior)


def _check_engine(bundle: Bundle, entry: EngineEntry, options: LoadOptions) -> list[Check]:
    from redraft.engines.verification import check_engine, check_rollback

    found = get_backend(entry.backend).availability()
    if not found.ok:
        label = f"{entry.role} on {entry.backend}: parity with its graph"
        return [Check(label, None, f"not checked: {found.reason}")]
    with load_engine(bundle, entry.role, entry.backend, options) as engine:
        graph = bundle.graph_folder(entry.role)
        ids = _token_ids(bundle)
        parity = check_engine(engine, graph, ids, max_width=entry.profile.max_decode)
        return [*parity, check_rollback(engine, ids)]


def _check_exactness(bundle: Bundle, threads: int | None) -> list[Check]:
    """Token for token in the deterministic mode; up to near-ties in the default one."""
    return [_compare(bundle, threads, deterministic=deterministic) for deterministic in (True, False)]


def _compare(bundle: Bundle, threads: int | None, *, deterministic: bool) -> Check:
    from redraft.cli.sampling_options import prompt_ids
    from redraft.runtime import LLM, SamplingParams
    from redraft.runtime.decoding import compare_runs

    params = SamplingParams(temperature=0, max_tokens=_EXACT_TOKENS)
    parted, ties, tokens = [], 0, 0
    with LLM(bundle, deterministic=deterministic, threads=threads) as llm:
        for prompt in PROMPTS:
            ids = prompt_ids(llm.tokenizer, prompt, raw=False)[: llm.context // 2]
            runs = [
                llm.generate(ids, params, speculative=how)[0].outputs[0].token_ids for how in (True, False)
            ]
            tokens += len(runs[1])
            found = compare_runs(llm.decoder, ids, *runs)
            if found is not None:
                parted.append({"prompt": prompt, **found.to_json()})
                ties += found.is_near_tie
    mode = "deterministic" if deterministic else "default"
    ok = not parted if deterministic else ties == len(parted)
    sentence = f"{tokens} tokens of {len(PROMPTS)} prompts, {len(parted)} divergences"
    if parted and not deterministic:
        sentence += f", {ties} of them near-ties of the target"
    figures = {"tokens": tokens, "divergences": parted}
    return Check(f"speculation, {mode} mode: greedy text equals plain decoding", ok, sentence, figures)


def _token_ids(bundle: Bundle) -> list[int]:
    """Real text: the calibration text where the bundle has it, else a paragraph in plain English."""
    path = bundle.folder / "calibration" / "text.json"
    if path.is_file():
        sequences = json.loads(path.read_text(encoding="utf-8"))
        return max(([*item["prompt_ids"], *item["output_ids"]] for item in sequences), key=len)
    from redraft.runtime.text import TextTokenizer

    tokenizer: TextTokenizer = TextTokenizer.read(bundle.tokenizer_folder)
    return tokenizer.encode(_TEXT)


def _roles(bundle: Bundle) -> tuple[Role, ...]:
    return ("target",) if bundle.manifest.drafter is None else ("target", "drafter")
