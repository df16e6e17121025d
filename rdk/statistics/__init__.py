"""Streaming statistics that can be merged: of the target's probability rows and of hidden states."""

from .calibration_statistics import CalibrationStatistics
from .hidden_moments import HiddenMoments
from .probability_rows import check_rows
from .row_moments import RowMoments
from .row_sample import RowSample

__all__ = ["CalibrationStatistics", "HiddenMoments", "RowMoments", "RowSample", "check_rows"]
