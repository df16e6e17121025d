"""Block quantisation of weight matrices: integer zero points of our own, or a quantised file's own blocks."""

from .integer_blocks import QUANTIZER_VERSION, IntegerBlocks, quantize_blocks, quantize_matrix
from .packing import pack_nibbles, unpack_nibbles
from .source_blocks import SourceBlocks, source_blocks

__all__ = [
    "QUANTIZER_VERSION",
    "IntegerBlocks",
    "SourceBlocks",
    "pack_nibbles",
    "quantize_blocks",
    "quantize_matrix",
    "source_blocks",
    "unpack_nibbles",
]
