"""Matrix products on one core, by the fastest library.

Most of a training step is matrix multiplication. torch's library is Intel's MKL. On other vendors' processors
the OpenBLAS bundled with numpy is faster, and it multiplies the small matrices of attention in place, without copying
them together first. Which library multiplies depends only on the computer, so a resumed run is the same run.
OpenBLAS must not use the cores of other threads, so it is limited to one core while they work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import ThreadpoolController
from torch import Tensor

_CPUINFO = Path("/proc/cpuinfo")


@contextmanager
def openblas_on_one_core() -> Iterator[None]:
    """Limit numpy's products to the core of the thread that asks for them."""
    with _openblas().limit(limits=1):
        yield


def multiply(a: Tensor, b: Tensor, out: Tensor) -> Tensor:
    """The product of two matrices, or of two stacks of matrices, by numpy."""
    with np.errstate(all="ignore"):  # an overflow shows in the loss and in the gradient's norm
        np.matmul(a.detach().numpy(), b.detach().numpy(), out=out.numpy())
    return out


@cache
def has_openblas() -> bool:
    """Whether numpy multiplies with OpenBLAS. Other libraries cannot be limited to one core."""
    return len(_openblas()) > 0


@cache
def numpy_is_faster() -> bool:
    """Whether numpy multiplies large matrices faster than torch, whose MKL is made for Intel's processors."""
    mkl = torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    return has_openblas() and mkl and not is_intel()


def is_intel() -> bool:
    """Whether Intel made the processor. Only Linux reports it; elsewhere we assume so."""
    if not _CPUINFO.exists():
        return True
    lines = (line.partition(":") for line in _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines())
    vendor = next((value.strip() for name, _, value in lines if name.strip() == "vendor_id"), "GenuineIntel")
    return vendor == "GenuineIntel"


@cache
def _openblas() -> ThreadpoolController:
    return ThreadpoolController().select(internal_api="openblas")
