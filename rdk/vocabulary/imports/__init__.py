"""Reading the vocabulary maps of other programs."""

from .import_ids import import_ids

__all__ = ["import_ids"]
