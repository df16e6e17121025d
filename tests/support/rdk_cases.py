"""Priors of every kind on small vocabularies, random but fixed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft.rdk.prior import RdkPrior
from redraft.rdk.vocabulary import VocabMap

TOKENIZER = "5" * 64
BODY = "b" * 64


def small_map(rows: int = 23, hot: int = 6, *, num_tokens: int = 0, seed: int = 0) -> VocabMap:
    """A map of `hot` random tokens among `rows` rows."""
    rng = np.random.default_rng(seed)
    ids = np.sort(rng.permutation(num_tokens or rows)[:hot]).astype(np.int32)
    return VocabMap(ids, rows, TOKENIZER, num_tokens)


def random_prior(
    kind: str,
    vocab_map: VocabMap,
    *,
    hidden_size: int = 5,
    rank: int = 3,
    epsilon: float = 0.1,
    seed: int = 1,
) -> RdkPrior:
    """A prior of `kind` for `vocab_map` with random content."""
    rng = np.random.default_rng(seed)
    d, c = vocab_map.num_hot, vocab_map.num_cold

    def normal(*shape: int) -> NDArray[np.float32]:
        return rng.normal(size=shape).astype(np.float32)

    arrays: dict[str, NDArray[np.float32]] = {}
    scalars: dict[str, float] = {}
    if kind == "shift":
        arrays = {"hot_shift": normal(d)}
    elif kind == "dense":
        arrays, scalars = {"kernel": stochastic(rng, d, vocab_map)}, {"epsilon": epsilon}
    elif kind == "first-order":
        rows = stochastic(rng, rank, vocab_map).T
        factor = rows - rows.mean(axis=1, keepdims=True)
        arrays, scalars = {"factor": factor.astype(np.float32)}, {"epsilon": epsilon, "tau": 1e-3}
    elif kind == "bucket":
        weights = rng.dirichlet(np.ones(c)) if c else np.zeros(0)
        arrays = {"state": normal(1, hidden_size), "cold_log_prior": np.log(weights).astype(np.float32)}
        scalars = {"log_num_cold": float(np.log(max(c, 1)))}
    elif kind == "low-rank":
        arrays = {
            "state": normal(rank, hidden_size),
            "cold": normal(c, rank),
            "cold_bias": normal(c),
            "hot_shift": normal(d),
        }
    return RdkPrior(kind, vocab_map.digest, BODY, arrays, scalars)


def stochastic(rng: np.random.Generator, rows: int, vocab_map: VocabMap) -> NDArray[np.float32]:
    """[rows, T] float32: random probability rows, 0 on padding."""
    kernel = np.zeros((rows, vocab_map.rows), dtype=np.float32)
    kernel[:, : vocab_map.num_tokens] = rng.dirichlet(np.full(vocab_map.num_tokens, 0.5), size=rows)
    return kernel
