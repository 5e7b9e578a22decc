"""Dropout (section 5.4 of the paper) with cheap masks: on a CPU, drawing them is most of the work.

torch draws a float for every value. Here two bytes decide, and they come from a simpler generator that is ten times as
fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

LEVELS = 1 << 16  # a random number of two bytes decides whether a value is dropped


class Masks:
    """The source of one twin's masks. A seed determines them: restoring it gives the same masks."""

    def __init__(self, seed: int) -> None:
        self.restart(seed)

    def restart(self, seed: int) -> None:
        """Start over from this seed."""
        self._bits = np.random.SFC64(seed)

    def draw(self, shape: torch.Size, threshold: int) -> Tensor:
        """1 where a random number below `LEVELS` reaches the threshold, else 0, as bytes."""
        count = shape.numel()
        raw = self._bits.random_raw(-(-count // 4))  # each holds eight bytes: four numbers
        kept = np.asarray(raw).view(np.uint16)[:count] >= threshold
        return torch.from_numpy(kept.view(np.uint8)).view(shape)


class Dropout(nn.Module):
    """Zero a share of the values during training, and scale the others up so that the mean stays the same."""

    def __init__(self, share: float, masks: Masks) -> None:
        super().__init__()
        self.p, self._masks = share, masks

    def forward(self, x: Tensor) -> Tensor:
        """`x` with some values dropped during training, otherwise `x` itself."""
        if not self.training or self.p == 0:
            return x
        threshold = min(round(self.p * LEVELS), LEVELS - 1)
        kept, scale = self._masks.draw(x.shape, threshold), LEVELS / (LEVELS - threshold)
        dropped: Tensor = _Drop.apply(x, kept, scale)  # type: ignore[no-untyped-call]
        return dropped


class _Drop(torch.autograd.Function):
    """x · kept · scale, and the same for the gradient. autograd would keep a float for every byte of the mask."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kept: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(kept)
        ctx.scale = scale
        return torch.mul(x, kept).mul_(scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (kept,) = ctx.saved_tensors
        return torch.mul(grad, kept).mul_(ctx.scale), None, None
