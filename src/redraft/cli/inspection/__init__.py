"""`redraft inspect`: what a file or folder is, one module a kind."""

from .identify import Description, describe

__all__ = ["Description", "describe"]
