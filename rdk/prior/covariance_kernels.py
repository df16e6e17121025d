"""Kernels from the covariance of the target's probability rows, and temperatures that suit its scale.

Entries of the covariance span ten orders of magnitude (variances from 1e-12 to 1e-2), so that with one common
temperature almost every softmax row is uniform. The defaults here are relative to the covariance itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from redraft._core.errors import InputFileError, UnsupportedError
from redraft.rdk.vocabulary.vocab_map import VocabMap

DENSE_LIMIT = 1 << 30
_CHUNK = 256


def dense_kernel(
    vocab_map: VocabMap,
    factor: NDArray[np.floating],  # [T, r]
    tau: float | None = None,
) -> NDArray[np.float32]:
    """[D, T] float32, rows sum to 1: the hot rows of M = row softmax(Omega / tau), Omega = factor @ factor.T.

    The paper's example kernel (arXiv 2506.03206). tau None gives row i its own temperature,
    max_j |Omega_ij| / ln(tokens): its strongest associate then weighs about as much as all others together.
    Rows without any covariance are uniform. Padding columns are 0.

    Raises UnsupportedError above 1 GiB, InputFileError where the factor's shape is not [T, r].
    """
    _check_factor(vocab_map, factor)
    num_tokens, num_hot = vocab_map.num_tokens, vocab_map.num_hot
    size = 4 * num_hot * vocab_map.rows
    if size > DENSE_LIMIT:
        raise UnsupportedError(
            f"a dense kernel of {num_hot} x {vocab_map.rows} needs {size / 2**30:.1f} GiB, "
            "above the limit of 1 GiB",
            hint="use first-order or low-rank, or keep fewer tokens",
        )
    kernel = np.zeros((num_hot, vocab_map.rows), dtype=np.float32)
    columns = factor[:num_tokens].astype(np.float64).T
    for start in range(0, num_hot, _CHUNK):
        ids = vocab_map.target_ids[start : start + _CHUNK]
        omega = factor[ids].astype(np.float64) @ columns
        if tau is None:
            strongest = np.abs(omega).max(axis=1, keepdims=True)
            omega *= np.log(max(num_tokens, 2)) / np.maximum(strongest, 1e-300)
        else:
            omega /= tau
        weights = np.exp(omega - omega.max(axis=1, keepdims=True))
        kernel[start : start + ids.size, :num_tokens] = weights / weights.sum(axis=1, keepdims=True)
    return kernel


def first_order_tau(vocab_map: VocabMap, factor: NDArray[np.floating]) -> float:
    """max_i Omega_ii / tokens: the covariance part then weighs about as much as the kernel's uniform part.

    A temperature above -min Omega_ij would keep every entry of the first-order kernel non-negative, but
    leaves it nearly uniform; negatives are clamped instead.
    """
    _check_factor(vocab_map, factor)
    variances = (factor[: vocab_map.num_tokens].astype(np.float64) ** 2).sum(axis=1)
    return max(float(variances.max()) / vocab_map.num_tokens, 1e-30)


def _check_factor(vocab_map: VocabMap, factor: NDArray[np.floating]) -> None:
    if factor.ndim != 2 or factor.shape[0] != vocab_map.rows or factor.shape[1] < 1:
        raise InputFileError(
            f"covariance factor: expected [{vocab_map.rows}, r], got {list(factor.shape)}",
            hint="run the statistics pass on this target: redraft prior fit",
        )
