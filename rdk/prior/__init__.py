"""Priors of redistribution: what they hold, how they are stored and checked, and how they start unfitted."""

from .check import check_arrays, check_prior
from .prior_file import load_prior, save_prior
from .rdk_prior import KINDS, STATE_KINDS, RdkPrior
from .unfitted import PriorInputs, unfitted_prior

__all__ = [
    "KINDS",
    "STATE_KINDS",
    "PriorInputs",
    "RdkPrior",
    "check_arrays",
    "check_prior",
    "load_prior",
    "save_prior",
    "unfitted_prior",
]
