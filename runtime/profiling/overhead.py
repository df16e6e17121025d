"""How much of a speculative round is spent outside the engines, by sampling setting."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.runtime.drafters import EngineDrafter
from redraft.runtime.llm import LLM
from redraft.runtime.sampling_params import SamplingParams

from .report import Overhead
from .timed_engine import TimedEngine
from .timed_request import time_request

SETTINGS: dict[str, dict[str, float]] = {
    "greedy": {"temperature": 0},
    "temperature": {"temperature": 0.8},
    "top_k": {"temperature": 0.8, "top_k": 50},
    "top_p": {"temperature": 0.8, "top_p": 0.95},
    "min_p": {"temperature": 0.8, "min_p": 0.05},
}
_SEED = 0


def measure_overhead(llm: LLM, prompt_ids: Sequence[int], max_tokens: int) -> dict[str, Overhead]:
    """Sampling setting -> what a round costs beside its engine calls, text included."""
    decoder = llm.decoder
    assert isinstance(decoder.drafter, EngineDrafter), "bench loads an engine as the drafter"
    models = (decoder.target, decoder.drafter.model)
    timed = [TimedEngine(model.engine) for model in models]
    for model, engine in zip(models, timed, strict=True):
        model.engine = engine
    try:
        found = {}
        for name, values in SETTINGS.items():
            params = SamplingParams(
                max_tokens=max_tokens,
                seed=_SEED,
                ignore_eos=True,
                temperature=values["temperature"],
                top_k=int(values.get("top_k", 0)),
                top_p=values.get("top_p", 1.0),
                min_p=values.get("min_p", 0.0),
            )
            for engine in timed:
                engine.reset()
            run = time_request(llm, prompt_ids, params, speculative=True)
            outside = max(run.e2e - sum(engine.seconds for engine in timed), 0.0)
            found[name] = Overhead(
                share=outside / run.e2e,
                us_per_round=outside / run.stats.rounds * 1e6,
                rounds=run.stats.rounds,
            )
        return found
    finally:
        for model, engine in zip(models, timed, strict=True):
            model.engine = engine.engine
