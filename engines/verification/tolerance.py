"""How far logits may be apart, by how they were computed: the one table of `redraft verify`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redraft.export.graph_spec import GraphSpec


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Bounds on logits: |actual - expected| <= absolute + relative * |expected|, and the worst row's
    divergence.
    """

    absolute: float
    relative: float
    kl: float  # nats, largest over rows
    tail: float = 0.0  # tokens less probable than this do not count
    mean_kl: float | None = None  # nats, mean over rows; None: as `kl`


_BY_COMPUTE = {
    "fp32": Tolerance(1e-3, 2e-4, 1e-6),
    "fp16": Tolerance(2e-1, 2e-2, 5e-3),
    "bf16": Tolerance(1.0, 1e-1, 5e-2),
}
_INTEGER_KERNEL = Tolerance(6.0, 1e-1, 5e-1, mean_kl=3e-2)
"""Kernels for int4 and int8 weights round the activations to int8, block by block, as well.

Single rows then differ visibly (up to 0.3 nats seen on SmolLM2), the mean does not (0.009): a wrong scale or
zero point moves it far above the bound.
"""


_MIXTURE_KINDS = ("dense", "first-order")
"""Their d is a sum that may cancel: the logarithm of a tiny probability has no absolute bound."""


def graph_tolerance(spec: GraphSpec) -> Tolerance:
    """For a canonical graph against a reference with the same rounded weights."""
    return _with_tail(_BY_COMPUTE[spec.precision["compute"]], spec, 1e-6)


def engine_tolerance(spec: GraphSpec) -> Tolerance:
    """For an engine against its canonical graph."""
    parts = (spec.precision["body"], spec.precision["head"])
    if any(form in ("int4", "int8", "source-exact") for form in parts):
        return _with_tail(_INTEGER_KERNEL, spec, 1e-3)
    return graph_tolerance(spec)


def _with_tail(tolerance: Tolerance, spec: GraphSpec, tail: float) -> Tolerance:
    return replace(tolerance, tail=tail) if spec.prior_kind in _MIXTURE_KINDS else tolerance
