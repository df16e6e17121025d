"""The exact output law of the production loop: every random decision is explored, with its probability."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tests.support.fake_engines import FakeCache, LogitsOf

from redraft.runtime.decoding import DecisionKey, Decoder, Generation, GenerationRequest, Law, warp

Outcome = TypeVar("Outcome")
Tokens = tuple[int, ...]


class ScriptedSource:
    """Follows a script of branches, then takes the first branch of each decision and notes the other ones."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.weight = 1.0
        self.alternatives: list[tuple[int, ...]] = []
        self.keys: list[DecisionKey] = []
        self._script, self._taken = script, ()

    def choose(self, law: Law, key: DecisionKey) -> int:
        ids, probs = law.support()
        return self._branch(ids.tolist(), probs.tolist(), key)

    def accept(self, probability: float, key: DecisionKey) -> bool:
        assert 0 <= probability <= 1
        branches = [(True, probability), (False, 1 - probability)]
        answers, weights = zip(*[branch for branch in branches if branch[1] > 0], strict=True)
        return self._branch(list(answers), list(weights), key)

    def _branch(self, answers: list[Any], weights: list[float], key: DecisionKey) -> Any:
        assert key not in self.keys, "two decisions share a key"
        self.keys.append(key)
        depth = len(self._taken)
        if depth < len(self._script):
            index = self._script[depth]
        else:
            index = 0
            self.alternatives += [(*self._taken, other) for other in range(1, len(answers))]
        self._taken = (*self._taken, index)
        self.weight *= weights[index]
        return answers[index]


def explore(run: Callable[[ScriptedSource], Outcome]) -> Iterator[tuple[Outcome, float]]:
    """Every outcome of `run` with the probability of the decisions that led to it."""
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        source = ScriptedSource(scripts.pop())
        outcome = run(source)
        yield outcome, source.weight
        scripts += source.alternatives


class _Switch:
    """A source that is plugged anew for each round; copies of a generation share it."""

    inner: ScriptedSource

    def choose(self, law: Law, key: DecisionKey) -> int:
        return self.inner.choose(law, key)

    def accept(self, probability: float, key: DecisionKey) -> bool:
        return self.inner.accept(probability, key)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Switch:
        return self


def output_law(
    decoder: Decoder,
    request: GenerationRequest,
    length: int,
    *,
    speculative: bool = True,
    policy: Any = None,
) -> dict[Tokens, float]:
    """The law of the first `length` output tokens of the production loop.

    States that agree in their tokens, both lengths, the kept prefix of both caches and the policy's state
    go on alike, so they are merged between rounds.
    """
    switch = _Switch()
    frontier = {(): (decoder.generation(request, switch, speculative=speculative, policy=policy), 1.0)}
    law: dict[Tokens, float] = defaultdict(float)
    while frontier:
        following: dict[Any, tuple[Generation, float]] = {}
        for generation, weight in frontier.values():

            def one_round(source: ScriptedSource, origin: Generation = generation) -> Generation:
                branch = copy.deepcopy(origin)
                switch.inner = source
                branch.step()
                return branch

            for branch, probability in explore(one_round):
                tokens = tuple(branch.output_ids)
                if branch.finish_reason is not None or len(tokens) >= length:
                    law[tokens[:length]] += weight * probability
                    continue
                key = _state(branch)
                kept, before = following.get(key, (branch, 0.0))
                following[key] = (kept, before + weight * probability)
        frontier = following
    return dict(law)


def plain_law(
    target: LogitsOf, request: GenerationRequest, length: int, *, num_tokens: int | None = None
) -> dict[Tokens, float]:
    """The law of the first `length` tokens of the target alone, from its table, without the loop."""
    law: dict[Tokens, float] = {(): 1.0}
    for _ in range(length):
        longer: dict[Tokens, float] = {}
        for tokens, weight in law.items():
            if tokens and tokens[-1] in request.stop_ids:
                longer[tokens] = weight
                continue
            ids, probs = warp(
                target((*request.prompt_ids, *tokens)), request.warp, num_tokens=num_tokens
            ).support()
            longer |= {(*tokens, i): weight * p for i, p in zip(ids.tolist(), probs.tolist(), strict=True)}
        law = longer
    return law


def distance(one: dict[Tokens, float], other: dict[Tokens, float]) -> float:
    """The largest difference of two laws at any outcome."""
    return max(abs(one.get(tokens, 0.0) - other.get(tokens, 0.0)) for tokens in one.keys() | other.keys())


def _state(generation: Generation) -> Any:
    decoder = generation.decoder
    models = [decoder.target] + ([decoder.drafter.model] if decoder.drafter is not None else [])
    caches = []
    for model in models:
        assert isinstance(model.cache, FakeCache)
        caches.append((model.length, model.cache.slots[0, : model.length].tobytes()))
    policy = tuple(sorted((name, repr(value)) for name, value in vars(generation.policy).items()))
    return tuple(generation.token_ids), tuple(caches), policy
