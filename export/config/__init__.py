"""One description of a decoder, and how each family's config becomes it."""

from .decoder_config import DecoderConfig, LayerConfig, RopeConfig
from .families import FAMILIES
from .from_gguf import GgufTensors, decoder_from_gguf
from .from_hf import decoder_from_hf
from .tensor_shapes import tensor_shapes

__all__ = [
    "FAMILIES",
    "DecoderConfig",
    "GgufTensors",
    "LayerConfig",
    "RopeConfig",
    "decoder_from_gguf",
    "decoder_from_hf",
    "tensor_shapes",
]
