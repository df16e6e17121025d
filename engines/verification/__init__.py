"""Checks of artefacts: graphs against checkpoints, engines against graphs, caches, values and digests."""

from .belonging import check_belonging
from .check import Check, passed
from .engine_parity import check_engine
from .graph_parity import check_graph, reference_logits
from .reference_decoder import reference_forward
from .rollback import check_rollback
from .scan import scan_arrays
from .stored_checkpoint import StoredCheckpoint

__all__ = [
    "Check",
    "StoredCheckpoint",
    "check_belonging",
    "check_engine",
    "check_graph",
    "check_rollback",
    "passed",
    "reference_forward",
    "reference_logits",
    "scan_arrays",
]
