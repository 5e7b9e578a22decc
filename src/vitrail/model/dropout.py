"""Dropout (section 5.4 of the paper) whose masks cost little: on a CPU, drawing them is most of the work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

_drawing = threading.local()  # a thread's own generator, where it has one

LEVELS = 1 << 16  # a random number of two bytes decides about each value


class Dropout(nn.Module):
    """Leave a share of the values out while training, and scale the others up so that the mean stays.

    The masks follow from torch's own generator, which gives each a seed: whoever restores that generator gets the same
    masks again. What is drawn from the seed comes from a simpler generator, ten times as fast.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """`x` with some of its values 0, while training; else `x` itself."""
        if not self.training or self.share == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.share)
        dropped: Tensor = _Drop.apply(x, self.share)  # type: ignore[no-untyped-call]
        return dropped

    def extra_repr(self) -> str:
        """What a printed model says of it."""
        return str(self.share)


class _Drop(torch.autograd.Function):
    """x · kept / (1 - share), and the same for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, share: float) -> Tensor:
        threshold = min(round(share * LEVELS), LEVELS - 1)
        kept = draw_mask(x.shape, threshold)
        ctx.save_for_backward(kept)
        ctx.scale = LEVELS / (LEVELS - threshold)
        return torch.mul(x, kept).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return torch.mul(grad, kept).mul_(ctx.scale), None


@contextmanager
def masks_from(seed: int) -> Iterator[None]:
    """Let this thread's masks follow from a seed: torch's generator is for all, and who asks it first is chance."""
    _drawing.generator = torch.Generator().manual_seed(seed)
    try:
        yield
    finally:
        del _drawing.generator


def draw_mask(shape: torch.Size, threshold: int) -> Tensor:
    """1 where a random number below `LEVELS` reaches the threshold, else 0, as bytes."""
    seed = int(torch.randint(1 << 62, (), generator=getattr(_drawing, "generator", None)))
    count = shape.numel()
    raw = np.random.SFC64(seed).random_raw(-(-count // 4))  # four numbers of two bytes in each of eight
    kept = np.asarray(raw).view(np.uint16)[:count] >= threshold
    return torch.from_numpy(kept.view(np.uint8)).view(shape)
