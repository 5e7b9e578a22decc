"""Matrix multiplication on one core, by the library that is fastest there.

A training step is matrix multiplication for the most part. torch's own is Intel's MKL; on other makers' processors the
one that numpy brings, OpenBLAS, is faster, and it multiplies the small matrices of attention where they lie, without
copies (benchmarks/training_choices.py). Which of them multiplies depends on the computer alone, so that a run which
goes on is the same run. It is for threads that have a core each: OpenBLAS must then not use others, and is told so for
as long as they work.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
import torch
from threadpoolctl import ThreadpoolController
from torch import Tensor

from vitrail.processor import is_intel

_here = threading.local()  # whether numpy multiplies for this thread


@contextmanager
def openblas_on_one_core() -> Iterator[None]:
    """Keep numpy's multiplications from using more than the core of who asks for them."""
    with _openblas().limit(limits=1):
        yield


@contextmanager
def numpy_multiplies(wanted: bool = True) -> Iterator[None]:
    """Let numpy multiply for this thread, where it is faster. It has one core, and so has OpenBLAS."""
    _here.by_numpy = wanted and has_openblas()
    try:
        yield
    finally:
        _here.by_numpy = False


def numpy_multiplies_here() -> bool:
    """Whether numpy multiplies for this thread."""
    return getattr(_here, "by_numpy", False)


def numpy_is_asked(x: Tensor) -> bool:
    """Whether numpy multiplies here, and can: numbers of the CPU, in full precision."""
    if not numpy_multiplies_here():
        return False
    return x.device.type == "cpu" and x.dtype in {torch.float32, torch.float64} and not torch.is_autocast_enabled("cpu")


def numpy_is_asked_for_large(x: Tensor) -> bool:
    """Whether it multiplies large matrices, too: not where torch's library was made for the processor."""
    return numpy_is_asked(x) and is_faster()


def multiply(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of two matrices, or with `out` of as many as lie behind each other, by numpy."""
    if out is None:
        out = a.new_empty(a.size(0), b.size(1))
    np.matmul(a.detach().numpy(), b.detach().numpy(), out=out.numpy())
    return out


@cache
def has_openblas() -> bool:
    """Whether numpy's multiplications are OpenBLAS's: others may not be told how many cores to use."""
    return len(_openblas()) > 0


@cache
def _openblas() -> ThreadpoolController:
    return ThreadpoolController().select(internal_api="openblas")


@cache
def is_faster() -> bool:
    """Whether it multiplies large matrices faster than torch, whose library was made for Intel's processors."""
    return torch.backends.mkl.is_available() and not is_intel()  # type: ignore[no-untyped-call]
