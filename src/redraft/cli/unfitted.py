"""Making an unfitted prior of a drafter's checkpoint and calibration statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redraft.export.checkpoint.base import Checkpoint
    from redraft.rdk.prior import RdkPrior
    from redraft.rdk.statistics import CalibrationStatistics
    from redraft.rdk.vocabulary import VocabMap

WITHOUT_STATISTICS = ("tli", "shift")
"""Kinds that need nothing but the map."""


def make_unfitted(
    kind: str,
    vocab_map: VocabMap,
    body_digest: str,
    drafter: Checkpoint,
    statistics: CalibrationStatistics | None,
    *,
    rank: int,
    epsilon: float,
    tau: float | None,
) -> RdkPrior:
    """The prior of this kind; see `redraft.rdk.prior.unfitted_prior` for what it raises.

    `rank` is that of low-rank, and of the covariance's factor for first-order; dense takes the whole sample.
    """
    from redraft.export import head_rows
    from redraft.rdk.prior import PriorInputs, unfitted_prior

    covariance = None
    if statistics is not None and kind in ("dense", "first-order"):
        sampled = statistics.sample
        covariance = sampled.factor(min(rank, sampled.num_rows) if kind == "first-order" else None)
    inputs = PriorInputs(
        vocab_map,
        body_digest,
        head_rows=lambda rows: head_rows(drafter, rows),
        mean_target=None if statistics is None else statistics.rows.mean,
        covariance_factor=covariance,
        second_moment=None if statistics is None else statistics.hidden.second_moment,
        soft_cap=drafter.config.logit_soft_cap,
        data_digest=None if statistics is None else statistics.digest,
    )
    return unfitted_prior(kind, inputs, rank=rank, epsilon=epsilon, tau=tau)
