"""Giving freed memory back to the system."""

from __future__ import annotations

import ctypes
import gc


def release_free_memory() -> None:
    """Let the C library hand its free blocks back; it may keep most of a session's weights otherwise.

    Only glibc has a call for it; elsewhere this collects Python's garbage alone.
    """
    gc.collect()
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return
    trim(0)
