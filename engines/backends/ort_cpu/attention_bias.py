"""The canonical masks, for graphs whose attention reads one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import UnsupportedError
from redraft.export.graph_spec import GraphSpec


def write_bias(
    bias: NDArray[Any],  # [B, 1, S, N]
    name: str,
    write_pos: NDArray[np.int64],  # [B]
    spec: GraphSpec,
) -> None:
    """Write 0 where a query row sees a slot and a large finite negative number elsewhere.

    `attention_bias` is causal; `attention_bias_local` also hides what the sliding layers' common window
    hides.
    """
    num_tokens, capacity = bias.shape[2:]
    query = write_pos[:, None, None] + np.arange(num_tokens)[None, :, None]  # [B, S, 1]
    slots = np.arange(capacity)  # [N]
    visible = slots <= query  # [B, S, N]
    if name == "attention_bias_local":
        visible &= slots > query - local_window(spec)
    hidden = -1e30 if bias.dtype == np.float32 else np.finfo(bias.dtype).min
    np.copyto(bias, np.where(visible, 0.0, hidden)[:, None], casting="unsafe")


def local_window(spec: GraphSpec) -> int:
    """The one window of all sliding layers; UnsupportedError where they differ."""
    windows = {window for window in spec.windows if window is not None}
    if len(windows) != 1:
        raise UnsupportedError(
            f"attention_bias_local: expected one window for all sliding layers, got {sorted(windows)}"
        )
    return windows.pop()
