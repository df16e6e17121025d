"""The bench report: its figures agree with each other, its schema with the code, its refusals are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.speculative_bundle import speculative_bundle

from redraft._core.errors import UsageError
from redraft.engines.bundle import Bundle
from redraft.runtime import LLM, SamplingParams
from redraft.runtime.profiling import BenchReport, BenchSettings, bench
from redraft.runtime.profiling.call_costs import predicted_speedup
from redraft.runtime.profiling.report import Costs
from redraft.runtime.profiling.schema import SCHEMA_FILE, bench_schema
from redraft.runtime.profiling.summary import bootstrap_interval, spread

PROMPTS = ("One.", "Two or three.")
QUICK = BenchSettings(max_tokens=20, repeats=2, cost_repeats=2)
OPTIONS = {"threads": 1, "num_speculative_tokens": 3}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return speculative_bundle(tmp_path_factory.mktemp("bench") / "b")


@pytest.fixture(scope="module")
def report(bundle: Bundle) -> BenchReport:
    return bench(bundle, PROMPTS, QUICK, options={**OPTIONS, "deterministic": True})


def test_the_report_has_what_the_command_promises(report: BenchReport) -> None:
    value = json.loads(json.dumps(report.to_json()))
    assert value["plain"]["tokens_per_second"] > 0
    assert value["speculative"]["tokens_per_second"] > 0
    assert value["speedup"]["observed"] > 0
    assert value["speedup"]["predicted"] > 0
    low, high = value["speedup"]["interval"]
    assert low <= value["speedup"]["observed"] <= high
    assert value["identical"] is True
    assert value["divergences"] == []
    assert value["acceptance_rule"] == "token"
    assert value["mean_acceptance_length"] == pytest.approx(1 + value["mean_accepted_drafts"])
    assert 0 <= value["oov"]["accepted"] <= value["oov"]["proposed"]
    assert set(value["costs"]["t_verify_ms"]) == {"1", "2", "3", "4", "8"}
    assert set(value["overhead"]) == {"greedy", "temperature", "top_k", "top_p", "min_p"}
    assert value["target"]["source_format"] == "safetensors-fp32"
    assert "integer zero points" in value["drafter"]["quantization"]
    assert value["settings"]["num_speculative_tokens"] == 3
    assert value["digests"]["map"]
    assert value["environment"]["versions"]["onnxruntime"]


def test_memory_is_that_of_a_process_of_its_own(report: BenchReport) -> None:
    assert report.memory is not None
    assert report.memory.weights_bytes > 100_000
    assert report.memory.cache_bytes > 100_000
    assert 0 < report.memory.peak_above_imports_bytes < 400e6


def test_counts_are_those_of_the_same_requests(bundle: Bundle, report: BenchReport) -> None:
    with LLM(bundle, deterministic=True, **OPTIONS) as llm:  # type: ignore[arg-type]
        params = SamplingParams(temperature=0, max_tokens=QUICK.max_tokens, ignore_eos=True)
        prompts = [llm.tokenizer.encode_chat([{"role": "user", "content": text}]) for text in PROMPTS]
        stats = [llm.generate(prompt, params)[0].stats for prompt in prompts]
    assert report.acceptance["drafted"] == 2 * sum(item.drafted for item in stats)
    assert report.acceptance["accepted"] == 2 * sum(item.accepted for item in stats)
    assert [request.tokens for request in report.requests] == [QUICK.max_tokens] * 2


def test_drawn_outputs_are_not_called_identical(bundle: Bundle) -> None:
    settings = BenchSettings(
        max_tokens=8,
        repeats=1,
        cost_repeats=1,
        sampling=SamplingParams(temperature=0.8, seed=3),
        with_memory=False,
        with_overhead=False,
    )
    report = bench(bundle, PROMPTS[:1], settings, options=OPTIONS)
    assert report.identical is None
    assert report.requests[0].identical is None
    assert report.memory is None
    assert report.overhead == {}


def test_the_committed_schema_is_that_of_the_code() -> None:
    assert json.loads(SCHEMA_FILE.read_text()) == bench_schema(), "python -m redraft.runtime.profiling.schema"


def test_bench_refuses_what_it_cannot_compare(bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no drafter is loaded"):
        bench(bundle, PROMPTS, QUICK, options={"speculative": False})
    with pytest.raises(UsageError, match="at least one prompt"):
        bench(bundle, (), QUICK)


def test_the_prediction_is_the_cost_model() -> None:
    costs = Costs(
        t_draft_ms=2.0, t_verify_ms={"1": 10.0, "3": 12.0, "5": 14.0}, cost_ratio=0.2, cache_length=8
    )
    assert predicted_speedup(costs, 4.0, 3.0) == pytest.approx(10.0 / ((4 * 2.0 + 14.0) / 3.0))
    assert predicted_speedup(costs, 3.0, 2.0) == pytest.approx(10.0 / ((3 * 2.0 + 13.0) / 2.0))


def test_intervals_hold_the_median_and_shrink_to_a_point() -> None:
    low, high = bootstrap_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert 1.0 <= low <= 3.0 <= high <= 5.0
    assert bootstrap_interval([2.0]) == (2.0, 2.0)
    assert spread([1.0, 3.0]).std == pytest.approx(2**0.5)
