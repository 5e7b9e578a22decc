"""The learning rate at every step: section 5.3 of the paper, and three others."""

from __future__ import annotations

import math
from collections.abc import Callable

from vitrail.config import TrainConfig

Schedule = Callable[[int], float]  # step, counted from 1, to learning rate


def make_schedule(config: TrainConfig, d_model: int) -> Schedule:
    """The schedule that the settings name."""
    warmup, peak = config.warmup_steps, config.peak_rate or 0.0
    if config.schedule == "paper":
        return paper(d_model, warmup)
    if config.schedule == "inverse_sqrt":
        return inverse_sqrt(peak, warmup)
    if config.schedule == "cosine":
        return cosine(peak, warmup, config.max_steps)
    return constant(peak, warmup)


def paper(d_model: int, warmup: int) -> Schedule:
    """Equation (3): up in a line for `warmup` steps, then down with the square root of the step."""
    return lambda step: d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def inverse_sqrt(peak: float, warmup: int) -> Schedule:
    """The paper's shape with a peak of one's own."""
    return lambda step: peak * min((warmup / step) ** 0.5, step / warmup)


def cosine(peak: float, warmup: int, max_steps: int) -> Schedule:
    """Up in a line, then down to nothing at the last step along half a cosine."""

    def rate(step: int) -> float:
        if step <= warmup:
            return peak * step / warmup
        done = min(1.0, (step - warmup) / max(1, max_steps - warmup))
        return peak * 0.5 * (1 + math.cos(math.pi * done))

    return rate


def constant(peak: float, warmup: int) -> Schedule:
    """Up in a line, then level."""
    return lambda step: peak * min(1.0, step / warmup) if warmup else peak
