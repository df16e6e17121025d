"""What a drafter keeps of a checkpoint: its layers, its body's identity, its head's rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from redraft._core.digest import digest_json
from redraft._core.errors import MismatchError, UsageError
from redraft.export.checkpoint.base import Checkpoint
from redraft.export.precision import Precision
from redraft.export.quantize import QUANTIZER_VERSION


def kept_layers(num_layers: int, drop_layers: Sequence[int]) -> tuple[int, ...]:
    """The layers that stay, in order. UsageError for an unknown or repeated one, or if none stays."""
    for layer in drop_layers:
        if not 0 <= layer < num_layers:
            raise UsageError(f"drop_layers: expected layers 0 to {num_layers - 1}, got {layer}")
    if len(set(drop_layers)) != len(drop_layers):
        raise UsageError(f"drop_layers: a layer is named twice in {list(drop_layers)}")
    kept = tuple(layer for layer in range(num_layers) if layer not in set(drop_layers))
    if not kept:
        raise UsageError(f"drop_layers: all {num_layers} layers are dropped, at least one must stay")
    return kept


def drafter_body_digest(checkpoint: Checkpoint, precision: Precision, drop_layers: Sequence[int] = ()) -> str:
    """Hex SHA-256 of all that determines the body's hidden states: weights, their formats, layers.

    The head's format and rows do not count. The checkpoint's own digest streams all its weights.
    """
    return digest_json(
        {
            "checkpoint": checkpoint.digest(),
            "body": precision.body,
            "embedding": precision.embedding,
            "compute": precision.compute,
            "layers": list(kept_layers(checkpoint.config.num_layers, drop_layers)),
            "quantizer": QUANTIZER_VERSION,
        }
    )


def head_rows(checkpoint: Checkpoint, rows: NDArray[np.integer]) -> NDArray[np.float32]:
    """[len(rows), E] float32: the head's rows at these ids, unquantised; the embedding's where it is tied.

    MismatchError for a row that the head does not have.
    """
    index = np.asarray(rows, dtype=np.int64)
    check_rows(checkpoint, index)
    return checkpoint.load_rows(head_tensor(checkpoint), index)


def head_tensor(checkpoint: Checkpoint) -> str:
    """The canonical name of the matrix that makes logits."""
    return "embed.weight" if checkpoint.config.tied_head else "head.weight"


def check_rows(checkpoint: Checkpoint, rows: NDArray[np.int64]) -> None:
    """MismatchError unless all rows are in the head."""
    size = checkpoint.config.head_rows
    if rows.size and not (rows.min() >= 0 and rows.max() < size):
        bad = int(rows.max() if rows.max() >= size else rows.min())
        raise MismatchError(
            f"the vocabulary map keeps token {bad}, but the drafter's head has {size} rows",
            hint="build the map for this checkpoint with `redraft vocab build`",
        )
