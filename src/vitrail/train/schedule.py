"""The learning rate at every step: section 5.3 of the paper, and three others."""

from __future__ import annotations

import math
from collections.abc import Callable

from vitrail.config import TrainConfig

Schedule = Callable[[int], float]  # step, counted from 1, to learning rate


def make_schedule(config: TrainConfig, d_model: int) -> Schedule:
    """The schedule that the settings name."""
    rate = _named(config, d_model)
    return falling(rate, config.fall_steps, config.max_steps) if config.fall_steps else rate


def _named(config: TrainConfig, d_model: int) -> Schedule:
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
    rise = constant(peak, warmup)
    return falling(rise, max_steps - warmup, max_steps) if max_steps > warmup else rise


def constant(peak: float, warmup: int) -> Schedule:
    """Up in a line, then level."""
    return lambda step: peak * step / warmup if step < warmup else peak


def falling(rate: Schedule, fall: int, max_steps: int) -> Schedule:
    """Another schedule, but for the last `fall` steps, in which it goes down to nothing along half a cosine."""

    def fallen(step: int) -> float:
        done = min(1.0, max(0.0, (step - (max_steps - fall)) / fall))
        return rate(step) * 0.5 * (1 + math.cos(math.pi * done))

    return fallen
