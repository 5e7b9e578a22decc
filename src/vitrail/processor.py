"""Which processor this is, as far as it decides how matrices are multiplied. Only Linux is asked."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

_TOLD = Path("/proc/cpuinfo")
ZEN_3_AND_4 = "25"  # AMD's number of both; of the two, only the fourth has AVX-512


@cache
def is_intel() -> bool:
    """Whether torch's library was made for it. Where nobody tells, we take it that it was."""
    return _first("vendor_id") in {"GenuineIntel", ""}


def choose_kernels() -> None:
    """Let numpy multiply large matrices by the kernels that are fastest here. It looks once, when it is imported.

    Its OpenBLAS takes those for AVX-512 wherever there is AVX-512. AMD's fourth generation does 512 bits as two times
    256, and is faster with the kernels that are made for 256; with small matrices it is slower, which are all that
    numpy multiplies in half precision (benchmarks/training_choices.py).
    """
    if _first("vendor_id") == "AuthenticAMD" and _first("cpu family") == ZEN_3_AND_4 and "avx512f" in _first("flags"):
        os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")


def _first(key: str) -> str:
    """What Linux says of the first core; nothing where it says nothing."""
    if not _TOLD.exists():
        return ""
    lines = (line.partition(":") for line in _TOLD.read_text(encoding="utf-8", errors="replace").splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == key), "")
