"""What a decoder graph is made of: stored matrices and their uses, norms, rotary tables, attention."""

from .attention import Attention
from .linear import embed, linear
from .norm import rms_norm
from .stored_matrix import NUMBER_TYPES, MatrixSource, StoredMatrix, add_matrix

__all__ = [
    "NUMBER_TYPES",
    "Attention",
    "MatrixSource",
    "StoredMatrix",
    "add_matrix",
    "embed",
    "linear",
    "rms_norm",
]
