"""An onnxruntime session with deliberate options, and its errors in one sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from redraft._core.errors import InputFileError, UsageError

_LOG_SEVERITY_ERROR = 3
_MAX_REASON = 200


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_threads(threads: int | None) -> int:
    """`threads`, or every usable core for None; UsageError below 1."""
    if threads is None:
        return usable_cores()
    if threads < 1:
        raise UsageError(f"threads: expected at least 1, got {threads}")
    return threads


def open_session(model: Path, threads: int | None) -> Any:
    """An InferenceSession over `model` on the CPU provider.

    InputFileError where ONNX Runtime cannot read it.
    """
    import onnxruntime as ort

    if not model.is_file():
        raise InputFileError(f"{model} is missing", hint="build the engine again with `redraft build`")
    try:
        return ort.InferenceSession(str(model), session_options(threads), providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises its own classes, straight below Exception
        reason = " ".join(str(error).split())[:_MAX_REASON]
        raise InputFileError(
            f"{model} cannot be loaded by ONNX Runtime {ort.__version__}: {reason}",
            hint="the file or its .data file may be damaged: build the engine again with `redraft build`",
        ) from error


def session_options(threads: int | None) -> Any:
    """Options of a session that shares the cores with a second one and runs shapes that keep changing."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = resolve_threads(threads)
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = _LOG_SEVERITY_ERROR
    # A memory pattern is kept per input shape: every width of a call would hold its own block.
    options.enable_mem_pattern = False
    # The pool of the engine that waits must not spin on the cores of the one that runs.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    # Blocks of work are handed out one by one: a core that something else uses does not hold up the others.
    options.add_session_config_entry("session.dynamic_block_base", "4")
    return options
