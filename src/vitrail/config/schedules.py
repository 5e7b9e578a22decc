"""The learning-rate schedules: which settings each one needs, and which it refuses.

This is the one list of their names. `train/schedule.py` computes the rate of each, under the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vitrail.config.checks import SettingError

if TYPE_CHECKING:
    from vitrail.config.sections import TrainConfig


@dataclass(frozen=True)
class ScheduleKind:
    """What the rest of the program needs to know about one schedule."""

    name: str
    takes_peak_rate: bool = True  # peak_rate must be set; otherwise the rate follows from d_model, and it must not
    needs_warmup: bool = False  # warmup_steps must be 1 or more
    ends_at_zero: bool = False  # the rate is zero at max_steps, without fall_steps

    def check(self, train: TrainConfig) -> None:
        """Raise SettingError for settings that this schedule cannot go with."""
        if not self.takes_peak_rate and train.peak_rate is not None:
            raise SettingError(
                f"peak_rate cannot go with schedule = '{self.name}'",
                fix="its rate follows from d_model and warmup_steps: set schedule = 'inverse_sqrt' to choose a peak",
            )
        if self.takes_peak_rate and train.peak_rate is None:
            raise SettingError(f"schedule = '{self.name}' needs peak_rate", fix="for example peak_rate = 0.001")
        if self.ends_at_zero and train.fall_steps:
            raise SettingError(
                f"fall_steps cannot go with schedule = '{self.name}'",
                fix="its rate falls to zero anyway: remove fall_steps",
            )
        if train.ends_at_zero and train.max_epochs is not None:
            cause = f"schedule = '{self.name}'" if self.ends_at_zero else "fall_steps"
            raise SettingError(
                f"max_epochs cannot go with {cause}", fix="the rate reaches zero at max_steps: set that instead"
            )
        if self.needs_warmup and train.warmup_steps == 0:
            raise SettingError(
                f"schedule = '{self.name}' needs warmup_steps of 1 or more", fix="for example 4000, as in the paper"
            )


SCHEDULES: dict[str, ScheduleKind] = {
    kind.name: kind
    for kind in (
        ScheduleKind("paper", takes_peak_rate=False, needs_warmup=True),
        ScheduleKind("inverse_sqrt", needs_warmup=True),
        ScheduleKind("cosine", ends_at_zero=True),
        ScheduleKind("constant"),
    )
}
