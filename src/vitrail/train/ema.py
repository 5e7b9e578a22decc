"""The exponential moving average of the weights: smoother than the latest weights, and often a better model."""

from __future__ import annotations

from copy import deepcopy

import torch

from vitrail.model import Transformer


class MovingAverage:
    """A second model that follows the one in training: after every step it moves a little towards it."""

    def __init__(self, model: Transformer, decay: float) -> None:
        self.model = deepcopy(model).requires_grad_(False).eval()
        self.decay = decay

    def decay_at(self, step: int) -> float:
        """The share of the average to keep. It starts small, so that the random initial weights fade quickly."""
        return min(self.decay, (1 + step) / (10 + step))

    @torch.no_grad()
    def follow(self, model: Transformer, step: int) -> None:
        """Update with the weights after `step`, counted from 1."""
        torch._foreach_lerp_(list(self.model.parameters()), list(model.parameters()), 1 - self.decay_at(step))
