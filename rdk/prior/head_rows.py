"""What priors take from the head: the mean cold row, and the best low-rank map of cold logits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError

HeadRows = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""Target ids [n] -> rows of the head [n, E]."""

_CHUNK = 8192
_RIDGE = 1e-6


def mean_row(head_rows: HeadRows, target_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """[E] float64: the mean of the head's rows of `target_ids`, read in chunks; zeros if there are none."""
    total: NDArray[np.float64] | None = None
    for _, rows in _chunks(head_rows, target_ids):
        part = rows.sum(axis=0, dtype=np.float64)
        total = part if total is None else total + part
    if total is None:
        return np.zeros(head_rows(np.zeros(1, dtype=np.int64)).shape[1])
    return total / target_ids.size


def low_rank_factors(
    head_rows: HeadRows,
    cold_ids: NDArray[np.int64],  # [C]
    num_tokens: int,
    second_moment: NDArray[np.floating],  # [E, E]
    rank: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(A [r, E], B [C, r]) that minimise E ||W_C h - B A h||^2 over hidden states h with this second moment.

    With S = E[h h^T] = L L (L symmetric), the best rank-r W of ||(W_C - W) L||_F is W_C L V V^T L^-1, V the
    top right singular vectors of W_C L. These are the eigenvectors of L (W_C^T W_C) L, so only [E, E]
    matrices are decomposed and W_C is read twice in chunks: A = V^T L^-1 and B = W_C L V. Rows of ids from
    `num_tokens` on are padding and stay zero. A small ridge on L (1e-6 of the root mean variance) keeps it
    invertible where fewer states than E were seen.

    Raises InputFileError where the second moment is not square and finite.
    """
    moment = np.asarray(second_moment, dtype=np.float64)
    if moment.ndim != 2 or moment.shape[0] != moment.shape[1] or not np.isfinite(moment).all():
        raise InputFileError(f"second moment: expected finite [E, E], got {list(moment.shape)}")
    size = moment.shape[0]
    values, vectors = np.linalg.eigh((moment + moment.T) / 2)
    scale = np.sqrt(max(float(np.trace(moment)) / size, 1e-30))
    values = np.sqrt(np.maximum(values, 0.0)) + _RIDGE * scale
    root = (vectors * values) @ vectors.T
    inverse_root = (vectors / values) @ vectors.T
    tokens = cold_ids[cold_ids < num_tokens]
    gram = np.zeros((size, size))
    for _, rows in _chunks(head_rows, tokens):
        gram += rows.T @ rows  # float32 products, summed over chunks in float64
    _, basis = np.linalg.eigh(root @ gram @ root)
    top = basis[:, ::-1][:, :rank]
    cold = np.zeros((cold_ids.size, rank), dtype=np.float32)
    for start, rows in _chunks(head_rows, tokens):
        cold[start : start + rows.shape[0]] = rows @ (root @ top).astype(np.float32)
    return (top.T @ inverse_root).astype(np.float32), cold


def _chunks(head_rows: HeadRows, target_ids: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.float32]]]:
    for start in range(0, target_ids.size, _CHUNK):
        yield start, head_rows(target_ids[start : start + _CHUNK]).astype(np.float32, copy=False)
