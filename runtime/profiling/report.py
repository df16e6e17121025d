"""BenchReport: the JSON document of `redraft bench`, versioned, with its schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1
"""Raised when a reader of the last version could not make sense of the document."""
Share = Annotated[float, Field(ge=0, le=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Spread(_Strict):
    """A figure over prompts: each prompt's median over repeats, then these."""

    median: float
    mean: float
    std: float
    min: float
    max: float


class Speed(_Strict):
    """One way of decoding. The target's prefill counts in `e2e` and `ttft_ms`, not in the others."""

    tokens_per_second: float  # median over prompts
    tokens_per_second_e2e: float
    ttft_ms: float  # from the request to the first token
    tpot_ms: float  # (e2e - ttft) / (tokens - 1)
    spread: Spread  # of tokens_per_second
    stages: dict[str, float]  # seconds over all prompts and repeats


class Speedup(_Strict):
    """Observed: median over prompts of the two rates' ratio, with a 95 % bootstrap interval over prompts.

    Predicted: t_verify(1) over (K t_draft + t_verify(K + 1)) / mean tokens of a round, K the mean drafts.
    """

    observed: float
    interval: tuple[float, float]
    predicted: float | None


class Divergence(_Strict):
    """Where plain and speculative output of a prompt part, and how near a tie the target was there."""

    prompt: int
    position: int
    margin: float
    near_tie: bool
    token_ids: tuple[int | None, int | None]
    top_ids: tuple[int, int]


class OutOfVocabulary(_Strict):
    """Drafts outside the drafter's vocabulary map."""

    proposed: int
    accepted: int


class Costs(_Strict):
    """Milliseconds of one engine call on a warm cache. `t_verify_ms`: width of the call -> median."""

    t_draft_ms: float | None
    t_verify_ms: dict[str, float]
    cost_ratio: float | None  # t_draft / t_verify(1)
    cache_length: int


class Overhead(_Strict):
    """Time of a speculative round that no engine call accounts for (the text's share included)."""

    share: Share
    us_per_round: float
    rounds: int


class Memory(_Strict):
    """Peak resident memory of one `generate` in a fresh process above that after the imports."""

    peak_above_imports_bytes: int
    weights_bytes: int
    cache_bytes: int
    ratio: float  # peak_above_imports / (weights + caches)


class ModelPart(_Strict):
    """One of the two models. `quantization` says in words how its weights were rounded."""

    source: str
    source_format: str
    source_bits: int | None
    kind: str
    precision: str
    quantization: str
    backend: str
    backend_version: str
    engine_key: str
    passes: tuple[str, ...]


class Digests(_Strict):
    """What was measured, by digest."""

    tokenizer: str | None
    map: str | None
    prior: str | None
    body: str | None
    prompts: str


class Settings(_Strict):
    """How it was measured."""

    prompts: int
    max_tokens: int
    repeats: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    seed: int
    num_speculative_tokens: int
    draft_policy: str
    deterministic: bool
    context: int


class Request(_Strict):
    """One prompt: medians over repeats."""

    prompt: int
    prompt_tokens: int
    tokens: int
    plain_tokens_per_second: float
    speculative_tokens_per_second: float
    acceptance_rate: float
    identical: bool | None


class BenchReport(_Strict):
    """The document. `identical` is true only where every output agreed, null where outputs are drawn at
    random.
    """

    schema_version: Literal[1] = 1
    bundle: str
    target: ModelPart
    drafter: ModelPart | None
    rdk: str | None  # kind of the prior
    keep: float | None  # kept rows / rows
    plain: Speed
    speculative: Speed
    speedup: Speedup
    identical: bool | None
    divergences: tuple[Divergence, ...]
    acceptance_rule: str
    acceptance_rate: float
    mean_acceptance_length: float  # with the correction or bonus token
    mean_accepted_drafts: float  # without
    acceptance: dict[str, Any]  # counts per position, histogram, masses outside the map
    oov: OutOfVocabulary
    costs: Costs
    overhead: dict[str, Overhead]  # by sampling setting
    memory: Memory | None
    requests: tuple[Request, ...]
    settings: Settings
    digests: Digests
    environment: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """A plain JSON object."""
        return self.model_dump(mode="json")
