"""One description of a decoder, and how each family's config becomes it."""

from .decoder_config import DecoderConfig, LayerConfig, RopeConfig

__all__ = ["DecoderConfig", "LayerConfig", "RopeConfig"]
