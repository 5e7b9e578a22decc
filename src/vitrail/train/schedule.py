"""The learning rate at every step: section 5.3 of the paper, and three other schedules.

`config/schedules.py` lists the same names, with the settings that each one needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from vitrail.config import TrainConfig

Schedule = Callable[[int], float]  # from a step, counted from 1, to its learning rate


def make_schedule(config: TrainConfig, d_model: int) -> Schedule:
    """The schedule that the settings name, with its fall at the end if they ask for one."""
    rate = SCHEDULES[config.schedule](config, d_model)
    return falling(rate, config.fall_steps, config.max_steps) if config.fall_steps else rate


def paper(d_model: int, warmup: int) -> Schedule:
    """Equation (3): rises linearly for `warmup` steps, then falls with the square root of the step."""
    return lambda step: d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def inverse_sqrt(peak: float, warmup: int) -> Schedule:
    """The paper's shape with a peak of your choice."""
    return lambda step: peak * min((warmup / step) ** 0.5, step / warmup)


def cosine(peak: float, warmup: int, max_steps: int) -> Schedule:
    """Rises linearly, then falls along half a cosine and reaches zero at the last step."""
    rise = constant(peak, warmup)
    return falling(rise, max_steps - warmup, max_steps) if max_steps > warmup else rise


def constant(peak: float, warmup: int) -> Schedule:
    """Rises linearly, then stays level."""
    return lambda step: peak * step / warmup if step < warmup else peak


def falling(rate: Schedule, fall: int, max_steps: int) -> Schedule:
    """Follows another schedule, and in the last `fall` steps brings it down to zero along half a cosine."""

    def fallen(step: int) -> float:
        done = min(1.0, max(0.0, (step - (max_steps - fall)) / fall))
        return rate(step) * 0.5 * (1 + math.cos(math.pi * done))

    return fallen


def _peak(config: TrainConfig) -> float:
    assert config.peak_rate is not None  # the settings were checked: every schedule that takes a peak has one
    return config.peak_rate


SCHEDULES: dict[str, Callable[[TrainConfig, int], Schedule]] = {
    "paper": lambda config, d_model: paper(d_model, config.warmup_steps),
    "inverse_sqrt": lambda config, d_model: inverse_sqrt(_peak(config), config.warmup_steps),
    "cosine": lambda config, d_model: cosine(_peak(config), config.warmup_steps, config.max_steps),
    "constant": lambda config, d_model: constant(_peak(config), config.warmup_steps),
}
