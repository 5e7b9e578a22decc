"""Everything that training changes. Checkpoints hold all of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from vitrail.model import Transformer
from vitrail.train.ema import MovingAverage


@dataclass(frozen=True)
class Learner:
    """A model, and the state that training keeps from step to step beside its weights."""

    model: Transformer
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler  # for fp16 losses; disabled, and without effect, in other precisions
    average: MovingAverage | None  # if the settings ask for it, and only in the leading process
    device: torch.device

    def broken_weight(self) -> str | None:
        """The name of a weight tensor that is not finite, if any: a step can produce one from a finite loss."""
        found = (name for name, value in self.model.named_parameters() if not value.isfinite().all())
        return next(found, None)
