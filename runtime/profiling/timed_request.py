"""TimedRequest: one request with its times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from redraft.runtime.decoding import DecodingStats
from redraft.runtime.llm import LLM
from redraft.runtime.sampling_params import SamplingParams


@dataclass(frozen=True, slots=True)
class TimedRequest:
    """The tokens of a request and the seconds that it took, from the call to the last token."""

    token_ids: list[int]
    stats: DecodingStats
    e2e: float
    ttft: float

    @property
    def tokens_per_second(self) -> float:
        """Without the seconds of the target's prefill."""
        return len(self.token_ids) / max(self.e2e - self.stats.seconds["prefill"], 1e-9)

    @property
    def tokens_per_second_e2e(self) -> float:
        """With everything."""
        return len(self.token_ids) / self.e2e

    @property
    def tpot(self) -> float:
        """Seconds for each token after the first."""
        return (self.e2e - self.ttft) / max(len(self.token_ids) - 1, 1)


def time_request(
    llm: LLM, prompt_ids: Sequence[int], params: SamplingParams, *, speculative: bool
) -> TimedRequest:
    """Decode one prompt through the public stream, detokenisation included."""
    start = perf_counter()
    ttft = 0.0
    output = None
    with llm.stream(list(prompt_ids), params, speculative=speculative) as stream:
        for delta in stream:
            ttft = ttft or perf_counter() - start
            output = delta.output
    e2e = perf_counter() - start
    assert output is not None, "a finished stream carries its output"
    return TimedRequest(output.outputs[0].token_ids, output.stats, e2e, ttft)
