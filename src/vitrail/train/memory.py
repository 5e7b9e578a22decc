"""Keep the memory that a step used for the next one.

A training step asks for the same large blocks again and again. The system's allocator gives each back to the kernel and
fetches it anew, page by page, which costs a tenth of the time: here it is told to keep them, and torch to ask for huge
pages where the system has them. oneDNN, on the other hand, keeps what it made ready for every shape it ever saw, a
gigabyte in an epoch: here it keeps enough for the layers of a step, whose shapes are the same.
"""

from __future__ import annotations

import ctypes
import os
import sys

# glibc's names for mallopt, from malloc.h.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX, M_ARENA_MAX = -1, -2, -4, -8
MIB = 1 << 20
SHAPES = "64"  # of multiplications, twice as many as a step has


def keep_memory() -> None:
    """Make this process keep freed memory, which is for Linux with glibc only, and few shapes."""
    os.environ.setdefault("LRU_CACHE_CAPACITY", SHAPES)  # torch's for oneDNN, of each thread, and oneDNN's own
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", SHAPES)
    if not sys.platform.startswith("linux"):
        return
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # torch reads it when it first allocates
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_MMAP_MAX, 0)
    mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(M_TOP_PAD, 64 * MIB)
    mallopt(M_ARENA_MAX, 1)  # what a thread frees is for all; heaps of their own would be given back when empty
