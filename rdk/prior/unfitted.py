"""Priors that need no training: one constructor per kind from statistics of the target and of the head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import UnsupportedError, UsageError
from redraft.rdk.statistics import CalibrationStatistics
from redraft.rdk.vocabulary.vocab_map import VocabMap

from .covariance_kernels import dense_kernel, first_order_tau
from .head_rows import HeadRows, low_rank_factors, mean_row
from .rdk_prior import KINDS, RdkPrior

V = TypeVar("V")

DEFAULT_EPSILON = 0.05
DEFAULT_RANK = 64
DEFAULT_COVARIANCE_RANK = 64


@dataclass(frozen=True, slots=True)
class PriorInputs:
    """What the constructors draw from; a kind that lacks its input says so.

    head_rows gives the head's rows of target ids: [n] int64 -> [n, E] float32 (dequantised, unscaled).
    mean_target [T] is the mean probability row of the target, covariance_factor [T, r] that of its covariance
    (`statistics.RowSample.factor`), second_moment [E, E] that of the head's inputs. soft_cap is the cap on
    the drafter's logits, None without one.
    """

    vocab_map: VocabMap
    body_digest: str
    head_rows: HeadRows | None = None
    mean_target: NDArray[np.floating] | None = None
    covariance_factor: NDArray[np.floating] | None = None
    second_moment: NDArray[np.floating] | None = None
    soft_cap: float | None = None
    data_digest: str | None = None

    @staticmethod
    def from_statistics(
        kind: str,
        statistics: CalibrationStatistics,
        vocab_map: VocabMap,
        body_digest: str,
        *,
        head_rows: HeadRows | None = None,
        soft_cap: float | None = None,
        covariance_rank: int = DEFAULT_COVARIANCE_RANK,
    ) -> PriorInputs:
        """What `kind` needs, taken from a calibration run; the rest stays None.

        covariance_rank is cut to the number of sampled rows.
        """
        rank = min(covariance_rank, statistics.sample.num_rows)
        return PriorInputs(
            vocab_map,
            body_digest,
            head_rows,
            statistics.rows.mean if kind == "bucket" else None,
            statistics.sample.factor(rank) if kind in ("dense", "first-order") else None,
            statistics.hidden.second_moment if kind == "low-rank" else None,
            soft_cap,
            statistics.digest,
        )


def unfitted_prior(
    kind: str,
    inputs: PriorInputs,
    *,
    rank: int | None = None,
    epsilon: float = DEFAULT_EPSILON,
    tau: float | None = None,
) -> RdkPrior:
    """The prior of `kind` before any fitting.

    rank is r of low-rank (default: 64, or E where that is smaller). epsilon and tau are those of the dense
    and first-order kernels; tau None chooses it from the covariance (`covariance_kernels`).

    Raises UsageError (unknown kind, option out of range, statistics missing) and UnsupportedError (bucket
    under a soft cap, a dense kernel above 1 GiB).
    """
    if kind not in KINDS:
        raise UsageError(f"prior kind '{kind}' is unknown", hint=f"the kinds are {', '.join(KINDS)}")
    if not 0.0 <= epsilon <= 1.0:
        raise UsageError(f"epsilon must lie in [0, 1], got {epsilon}")
    if tau is not None and tau <= 0.0:
        raise UsageError(f"tau must be positive, got {tau}")
    make: dict[str, Callable[[], RdkPrior]] = {
        "tli": lambda: _prior("tli", inputs, {}, {}),
        "shift": lambda: _prior("shift", inputs, {"hot_shift": _zeros(inputs.vocab_map.num_hot)}, {}),
        "dense": lambda: _dense(inputs, epsilon, tau),
        "first-order": lambda: _first_order(inputs, epsilon, tau),
        "bucket": lambda: _bucket(inputs),
        "low-rank": lambda: _low_rank(inputs, rank),
    }
    return make[kind]()


def _dense(inputs: PriorInputs, epsilon: float, tau: float | None) -> RdkPrior:
    factor = _given(inputs.covariance_factor, "dense", "the target's covariance")
    kernel = dense_kernel(inputs.vocab_map, factor, tau)
    return _prior("dense", inputs, {"kernel": kernel}, {"epsilon": epsilon})


def _first_order(inputs: PriorInputs, epsilon: float, tau: float | None) -> RdkPrior:
    factor = _given(inputs.covariance_factor, "first-order", "the target's covariance")
    if tau is None:
        tau = first_order_tau(inputs.vocab_map, factor)
    arrays = {"factor": factor.astype(np.float32)}
    return _prior("first-order", inputs, arrays, {"epsilon": epsilon, "tau": tau})


def _bucket(inputs: PriorInputs) -> RdkPrior:
    """[(1-theta) s, theta w]: theta from ln m + the mean cold logit, a bound only for linear logits."""
    if inputs.soft_cap is not None:
        raise UnsupportedError(
            "a bucket prior needs logits linear in the hidden state, but this model caps them softly",
            hint="use low-rank or tli",
        )
    vocab_map = inputs.vocab_map
    cold_ids = vocab_map.cold_ids[vocab_map.cold_ids < vocab_map.num_tokens]
    state = mean_row(_given(inputs.head_rows, "bucket", "the head's rows"), cold_ids)
    mean = _given(inputs.mean_target, "bucket", "the target's mean probability row")
    weights = np.zeros(vocab_map.num_cold)
    weights[: cold_ids.size] = np.maximum(mean[cold_ids].astype(np.float64), 1e-12)
    log_prior = np.full(vocab_map.num_cold, -100.0)
    log_prior[: cold_ids.size] = np.log(weights[: cold_ids.size] / max(weights.sum(), 1e-300))
    arrays = {"state": state[None].astype(np.float32), "cold_log_prior": log_prior.astype(np.float32)}
    return _prior("bucket", inputs, arrays, {"log_num_cold": float(np.log(max(cold_ids.size, 1)))})


def _low_rank(inputs: PriorInputs, rank: int | None) -> RdkPrior:
    rows = _given(inputs.head_rows, "low-rank", "the head's rows")
    moment = _given(inputs.second_moment, "low-rank", "the second moment of the hidden states")
    hidden_size = moment.shape[0]
    rank = min(DEFAULT_RANK, hidden_size) if rank is None else rank
    if not 1 <= rank <= hidden_size:
        raise UsageError(f"the rank of a low-rank prior must be 1 to {hidden_size}, got {rank}")
    vocab_map = inputs.vocab_map
    state, cold = low_rank_factors(rows, vocab_map.cold_ids, vocab_map.num_tokens, moment, rank)
    arrays = {
        "state": state,
        "cold": cold,
        "cold_bias": _zeros(vocab_map.num_cold),
        "hot_shift": _zeros(vocab_map.num_hot),
    }
    return _prior("low-rank", inputs, arrays, {})


def _prior(
    kind: str, inputs: PriorInputs, arrays: dict[str, NDArray[np.float32]], scalars: dict[str, float]
) -> RdkPrior:
    fit = {"method": "unfitted", "data_digest": inputs.data_digest}
    return RdkPrior(kind, inputs.vocab_map.digest, inputs.body_digest, arrays, scalars, fit)


def _zeros(size: int) -> NDArray[np.float32]:
    return np.zeros(size, dtype=np.float32)


def _given(value: V | None, kind: str, noun: str) -> V:
    if value is None:
        raise UsageError(f"a {kind} prior needs {noun}", hint="run the statistics pass: redraft prior fit")
    return value
