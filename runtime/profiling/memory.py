"""Peak memory of `generate`, measured in a process of its own.

python -m redraft.runtime.profiling.memory BUNDLE OPTIONS_JSON
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .report import Memory

_TIMEOUT_SECONDS = 600
_PROMPT = "Explain in a few sentences why the sky is blue."
_MAX_TOKENS = 64
_PROGRAM = f"from {__name__} import main; main()"


def measure_memory(bundle: Path, options: Mapping[str, Any]) -> Memory | None:
    """Memory of one greedy speculative `generate` with `LLM(bundle, **options)`; None where it cannot be
    measured.
    """
    command = [sys.executable, "-c", _PROGRAM, str(bundle), json.dumps(dict(options))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=True)
        return Memory(**json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def main() -> None:
    """The process: its arguments are a bundle and a JSON object of LLM options; it prints the figures as
    JSON.
    """
    import numpy  # noqa: F401 - what the imports cost is not generate's memory
    import onnxruntime  # noqa: F401
    import tokenizers  # noqa: F401

    from redraft.engines.bundle import Bundle
    from redraft.runtime import LLM, SamplingParams

    bundle = Bundle.open(sys.argv[1])
    before = _status_bytes("VmRSS")
    with LLM(bundle, **json.loads(sys.argv[2])) as llm:
        llm.generate(_PROMPT, SamplingParams(temperature=0, max_tokens=_MAX_TOKENS, ignore_eos=True))
        decoder = llm.decoder
        caches = decoder.target.cache.num_bytes
        if decoder.drafter is not None:
            caches += decoder.drafter.model.cache.num_bytes  # type: ignore[attr-defined]
    peak = max(_status_bytes("VmHWM") - before, 0)
    weights = sum(
        path.stat().st_size
        for entry in bundle.manifest.engines
        if entry.backend == decoder.target.engine.backend
        for path in (bundle.folder / entry.folder).iterdir()
        if path.suffix == ".data"
    )
    memory = Memory(
        peak_above_imports_bytes=peak,
        weights_bytes=weights,
        cache_bytes=caches,
        ratio=peak / (weights + caches),
    )
    sys.stdout.write(json.dumps(memory.model_dump()))


def _status_bytes(field: str) -> int:
    """`VmRSS` or `VmHWM` (the peak) of this process; elsewhere than on Linux its peak stands for both."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
