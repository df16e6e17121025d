"""Drafters: who proposes tokens to the loop."""

from __future__ import annotations

from .base import Drafter
from .engine_drafter import EngineDrafter

__all__ = ["Drafter", "EngineDrafter"]
