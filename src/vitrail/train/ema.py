"""The exponential moving average of the weights: smoother than the newest ones, and often a better translator."""

from __future__ import annotations

from copy import deepcopy

import torch

from vitrail.model import Transformer


class MovingAverage:
    """A second model that follows the one in training: after every step it goes a small part of the way to it."""

    def __init__(self, model: Transformer, decay: float) -> None:
        self.model = deepcopy(model).requires_grad_(False).eval()
        self.decay = decay

    def decay_at(self, step: int) -> float:
        """How much of the average stays. At first little: the random beginning must not outlive its usefulness."""
        return min(self.decay, (1 + step) / (10 + step))

    @torch.no_grad()
    def follow(self, model: Transformer, step: int) -> None:
        """Take in the weights that a step, counted from 1, ended in."""
        torch._foreach_lerp_(list(self.model.parameters()), list(model.parameters()), 1 - self.decay_at(step))
