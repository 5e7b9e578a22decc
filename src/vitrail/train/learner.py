"""What a run changes as it learns. All of it is in a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from vitrail.model import Transformer
from vitrail.train.ema import MovingAverage


@dataclass(frozen=True)
class Learner:
    """A model, and what is remembered from step to step beside its weights."""

    model: Transformer
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler  # of fp16's losses; else it is not enabled, and does nothing
    average: MovingAverage | None  # where settings ask for it, in the process that writes
    device: torch.device

    def broken_weight(self) -> str | None:
        """The name of a weight that is not a number, if there is one: a step may end in it though its loss was one."""
        found = (name for name, value in self.model.named_parameters() if not value.isfinite().all())
        return next(found, None)
