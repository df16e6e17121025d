"""Microseconds that the decoding loop itself takes in a round, with engines that do nothing.

The logits are fixed rows, spread like a language model's; the drafter's are a noisy copy of the target's, so
that some drafts are accepted and some are not. Prints one JSON document.

    python benchmarks/runtime_overhead.py [--rounds 60] [--drafts 4]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import statistics
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft.engines.base import Call, Engine, KVCache
from redraft.export.graph_spec import GraphSpec
from redraft.rdk.vocabulary.vocab_map import VocabMap
from redraft.runtime.decoding import Decoder, GenerationRequest, RandomSource, WarpParams

WARPS = {
    "greedy": WarpParams(temperature=0),
    "temperature": WarpParams(temperature=0.8),
    "top-k": WarpParams(temperature=0.8, top_k=50),
    "top-p": WarpParams(temperature=0.8, top_p=0.95),
    "min-p": WarpParams(temperature=0.8, min_p=0.05),
    "top-k+top-p": WarpParams(temperature=0.8, top_k=50, top_p=0.95),
}


class NoCache(KVCache):
    """Holds nothing."""

    def __init__(self, batch: int, capacity: int) -> None:
        self.batch, self.capacity = batch, capacity

    @property
    def num_bytes(self) -> int:
        return 0

    def read(self, layer: int) -> tuple[NDArray[Any], NDArray[Any]]:
        raise NotImplementedError("this cache holds nothing")


class NoOpEngine(Engine):
    """Returns the next of a few fixed rows of logits, at no cost."""

    backend = "no-op"

    def __init__(self, rows: NDArray[np.float32], *, drafter: bool) -> None:
        self._rows = rows  # [n, T]; a call starts at the row of its last position
        self._output = "draft_logits" if drafter else "logits"
        self.spec = GraphSpec(
            role="drafter" if drafter else "target",
            variant="redistributed" if drafter else "logits",
            precision={},
            inputs=(),
            outputs=(),
            sizes={"T": rows.shape[1], "L": 1},
            windows=(None,),
            max_positions=1 << 20,
            cache_dtype="float32",
            opset=24,
        )

    def allocate_cache(self, batch: int, capacity: int) -> NoCache:
        return NoCache(batch, capacity)

    def run(self, call: Call, cache: KVCache) -> dict[str, NDArray[Any]]:
        first = int(call.position_ids[0, call.logit_rows[0, 0]]) % (len(self._rows) // 2)
        return {self._output: self._rows[None, first : first + call.logit_rows.shape[1]]}

    def close(self) -> None:
        pass


def measure(num_rows: int, params: WarpParams, num_drafts: int, num_rounds: int) -> dict[str, float]:
    """Median microseconds of a round, by what the loop did, and how many tokens it emitted."""
    random = np.random.default_rng(0)
    target = (-2.2 * np.log(random.permuted(np.tile(np.arange(1.0, num_rows + 1), (32, 1)), axis=1))).astype(
        np.float32
    )
    draft = target + random.normal(0, 0.5, target.shape).astype(np.float32)
    hot = np.sort(random.choice(num_rows, num_rows // 10, replace=False)).astype(np.int32)
    decoder = Decoder(
        NoOpEngine(target, drafter=False),
        NoOpEngine(draft, drafter=True),
        num_speculative_tokens=num_drafts,
        vocab_map=VocabMap(hot, num_rows, "0" * 64),
    )
    generation = decoder.generation(GenerationRequest((1, 2), params), RandomSource(1))
    generation.step()
    times = []
    for _ in range(num_rounds):
        start = time.perf_counter()
        generation.step()
        times.append((time.perf_counter() - start) * 1e6)
    stats = generation.stats
    return {
        "us_per_round": round(statistics.median(times), 1),
        "us_p90": round(sorted(times)[int(0.9 * len(times))], 1),
        "tokens_per_round": round(stats.emitted / stats.rounds, 2),
        "sample_us": round(stats.seconds["sample"] / stats.rounds * 1e6, 1),
        "accept_us": round(stats.seconds["accept"] / stats.rounds * 1e6, 1),
    }


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--drafts", type=int, default=4)
    options = parser.parse_args()
    report = {
        "machine": platform.processor() or platform.machine(),
        "numpy": np.__version__,
        "num_drafts": options.drafts,
        "rounds": options.rounds,
        "warps": {name: dataclasses.asdict(params) for name, params in WARPS.items()},
        "results": {
            str(num_rows): {
                name: measure(num_rows, params, options.drafts, options.rounds)
                for name, params in WARPS.items()
            }
            for num_rows in (49_152, 262_144)
        },
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
