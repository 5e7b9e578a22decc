"""How fast a run goes, and how long it will take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

SETTLED = 60.0  # seconds before shares of the time are meaningful


class Pace:
    """Counts steps and tokens against the clock."""

    def __init__(self, steps_left: int) -> None:
        self.steps_left = steps_left
        self.steps = self.tokens = 0
        self.began = self.saved = self.stepped = time.monotonic()
        self.longest_step = 0.0  # seconds from one step to the next, with everything in between
        self.spent = {"validation": 0.0, "checkpoints": 0.0}  # seconds spent on anything but steps

    @contextmanager
    def counted(self, what: Literal["validation", "checkpoints"]) -> Iterator[None]:
        """Measure how long the block takes."""
        began = time.monotonic()
        yield
        now = time.monotonic()
        self.spent[what] += now - began
        if what == "checkpoints":
            self.saved = now

    def add(self, tokens: int) -> None:
        """Count one more step."""
        now = time.monotonic()
        self.longest_step = max(self.longest_step, now - self.stepped)
        self.stepped = now
        self.steps += 1
        self.tokens += tokens
        self.steps_left = max(0, self.steps_left - 1)

    @property
    def seconds(self) -> float:
        """Seconds since the loop was started or resumed."""
        return time.monotonic() - self.began

    def share(self, what: Literal["validation", "checkpoints"]) -> float:
        """The share of the time so far spent on something; 0 while it is too early to tell."""
        return self.spent[what] / self.seconds if self.seconds >= SETTLED else 0.0

    @property
    def unsaved_seconds(self) -> float:
        """Seconds since the last checkpoint: what a crash would lose."""
        return time.monotonic() - self.saved

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second, without padding."""
        return self.tokens / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """The estimated time to the end, at the pace so far."""
        return self.steps_left * self.seconds / max(self.steps, 1)
