"""Reuse the memory of one training step for the next.

A training step allocates the same large blocks again and again. By default the system's allocator returns each to the
kernel and fetches it anew, page by page, which costs a tenth of the time. Here it keeps them, and torch requests huge
pages if the system has them. oneDNN, in contrast, caches its preparations for every shape it has seen, a gigabyte per
epoch. Here it caches only enough for the layers of one step, which share their shapes.
"""

from __future__ import annotations

import ctypes
import os
import sys

# glibc's names for mallopt, from malloc.h.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX, M_ARENA_MAX = -1, -2, -4, -8
MIB = 1 << 20
SHAPES = "64"  # of matrix multiplications; about twice as many as a step has


def keep_memory() -> None:
    """Make this process keep freed memory (only on Linux with glibc) and cache few shapes."""
    os.environ.setdefault("LRU_CACHE_CAPACITY", SHAPES)  # torch's own cache for oneDNN, one per thread
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", SHAPES)  # oneDNN's cache
    if not sys.platform.startswith("linux"):
        return
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # torch reads it at its first allocation
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_MMAP_MAX, 0)
    mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(M_TOP_PAD, 64 * MIB)
    mallopt(M_ARENA_MAX, 1)  # one heap for all threads; separate ones would be returned when empty
