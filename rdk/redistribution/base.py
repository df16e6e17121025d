"""The contract of a redistribution kind, and the pieces that several kinds share.

A kind turns the pruned drafter's hot logits [..., D] into draft logits [..., T] in target-id order: log d +
logsumexp(hot logits). It is written twice: `log_d` in float64, which is the definition, and `body`, the
same in ONNX text, which is what runs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from redraft.rdk.prior import RdkPrior
from redraft.rdk.vocabulary import VocabMap

NO_PROBABILITY = -1e30
"""The finite stand-in for log 0 in draft logits."""

Float64 = NDArray[np.float64]


class Redistribution(ABC):
    """One kind. Instances hold nothing; they are entries of `registry.KINDS`."""

    kind: ClassVar[str]
    needs_state: ClassVar[bool] = False
    constant_names: ClassVar[tuple[str, ...]]

    @abstractmethod
    def draft_logits(
        self,
        prior: RdkPrior,
        vocab_map: VocabMap,
        hot_logits: Float64,
        state: Float64 | None,
        soft_cap: float | None,
    ) -> Float64:
        """log d + logsumexp(hot_logits) [..., T] in float64, -inf where d is 0, from state = A h [..., r]."""

    @abstractmethod
    def constants(self, prior: RdkPrior, vocab_map: VocabMap) -> dict[str, NDArray[np.generic]]:
        """The constant inputs of `body` after hot_logits and prior_state, by `constant_names`."""

    @abstractmethod
    def body(self, soft_cap: float | None) -> str:
        """ONNX text of the node list that computes draft_logits [B, R, T] float32 from those inputs."""


def log_sum_exp(logits: Float64) -> Float64:
    """logsumexp over the last axis, kept as an axis of size 1; -inf where all are -inf."""
    top = logits.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total: Float64 = np.log(np.exp(logits - top).sum(axis=-1, keepdims=True)) + top
    return total


def in_target_order(vocab_map: VocabMap, hot: Float64, cold: Float64) -> Float64:
    """[..., T] from hot [..., D] and cold [..., C] values."""
    row = np.empty((*hot.shape[:-1], vocab_map.rows))
    row[..., vocab_map.target_ids] = hot
    row[..., vocab_map.cold_ids] = cold
    return row


def joint_logits(vocab_map: VocabMap, hot_logits: Float64, hot: Float64, cold: Float64) -> Float64:
    """log softmax([hot, cold]) + logsumexp(hot_logits) in target order; padding rows get no probability.

    hot [..., D] and cold [..., C] are logits of d, hot_logits [..., D] the drafter's own.
    """
    cold = np.where(vocab_map.cold_ids < vocab_map.num_tokens, cold, -np.inf)
    excess = log_sum_exp(np.concatenate([hot, cold], axis=-1)) - log_sum_exp(hot_logits)
    return in_target_order(vocab_map, hot - excess, cold - excess)


def mixture_logits(vocab_map: VocabMap, hot_logits: Float64, epsilon: float, spread: Float64) -> Float64:
    """log((1 - epsilon) s + epsilon spread) + logsumexp(hot_logits), s = softmax(hot_logits) on the hot rows.

    spread [..., T] is a probability row.
    """
    base = log_sum_exp(hot_logits)
    log_s = in_target_order(
        vocab_map, hot_logits - base, np.full((*base.shape[:-1], vocab_map.num_cold), -np.inf)
    )
    with np.errstate(divide="ignore"):
        log_d: Float64 = np.logaddexp(np.log1p(-epsilon) + log_s, np.log(epsilon) + np.log(spread))
    return log_d + base


# ONNX text. Names that a snippet defines: `base` (logsumexp of hot_logits, [B, R, 1]), `hot_index` [B, R, D],
# `empty` [B, R, T]. No snippet makes an infinity: maxima are subtracted, logarithms get positive arguments.

LAST_AXIS = "last = Constant <value_ints = [-1]> ()\n"

BASE = """
hot_top = ReduceMax <keepdims = 1> (hot_logits, last)
hot_below = Sub (hot_logits, hot_top)
hot_weights = Exp (hot_below)
hot_total = ReduceSum <keepdims = 1> (hot_weights, last)
hot_log_total = Log (hot_total)
base = Add (hot_log_total, hot_top)
"""

HOT_INDEX = """
hot_shape = Shape (hot_logits)
hot_index = Expand (hot_ids, hot_shape)
"""

EMPTY = """
leading = Shape <start = 0, end = 2> (hot_logits)
num_rows = Shape (empty_row)
row_shape = Concat <axis = 0> (leading, num_rows)
empty = Expand (empty_row, row_shape)
"""

JOINT = """
joint = ScatterElements <axis = -1> (cold_logits, hot_index, hot_values)
joint_top = ReduceMax <keepdims = 1> (joint, last)
joint_below = Sub (joint, joint_top)
joint_weights = Exp (joint_below)
joint_total = ReduceSum <keepdims = 1> (joint_weights, last)
joint_log_total = Log (joint_total)
joint_base = Add (joint_log_total, joint_top)
excess = Sub (joint_base, base)
draft_logits = Sub (joint, excess)
"""

MIXTURE = """
log_kept = Add (log_s, log_keep)
kept_row = ScatterElements <axis = -1> (empty, hot_index, log_kept)
kept = Exp (kept_row)
mixed = Add (spread, kept)
least = Constant <value_float = 1.0e-37> ()
positive = Max (mixed, least)
log_mixed = Log (positive)
is_none = Less (mixed, least)
none = Constant <value_float = -1.0e30> ()
log_or_none = Where (is_none, none, log_mixed)
log_d = Max (log_or_none, kept_row)
draft_logits = Add (log_d, base)
"""


def empty_row(vocab_map: VocabMap) -> NDArray[np.float32]:
    """[T] float32 of `NO_PROBABILITY`."""
    return np.full(vocab_map.rows, NO_PROBABILITY, dtype=np.float32)


def over_target_rows(vocab_map: VocabMap, cold: NDArray[np.float32], fill: float) -> NDArray[np.float32]:
    """[..., T] float32: cold values [..., C] at the pruned tokens, `fill` at hot and padding rows."""
    is_token = vocab_map.cold_ids < vocab_map.num_tokens
    row = np.full((*cold.shape[:-1], vocab_map.rows), fill, dtype=np.float32)
    row[..., vocab_map.cold_ids[is_token]] = cold[..., is_token]
    return row


def mixture_constants(vocab_map: VocabMap, epsilon: float) -> dict[str, NDArray[np.generic]]:
    """hot_ids, empty_row and log_keep = log(1 - epsilon), the constants that `MIXTURE` needs."""
    log_keep = np.log1p(-epsilon) if epsilon < 1.0 else NO_PROBABILITY
    return {
        "hot_ids": vocab_map.hot_ids,
        "empty_row": empty_row(vocab_map),
        "log_keep": np.array(log_keep, dtype=np.float32),
    }


def cap_text(soft_cap: float | None) -> str:
    """ONNX text: `capped` = soft_cap * tanh(`projected` / soft_cap), or `projected` itself."""
    if soft_cap is None:
        return "capped = Identity (projected)\n"
    return f"""
cap = Constant <value_float = {float(soft_cap)!r}> ()
ratio = Div (projected, cap)
squashed = Tanh (ratio)
capped = Mul (squashed, cap)
"""
