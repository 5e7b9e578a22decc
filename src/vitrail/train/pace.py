"""How fast a run goes, and how long it will take."""

from __future__ import annotations

import time


class Pace:
    """Counts steps and tokens against the clock."""

    def __init__(self, steps_left: int) -> None:
        self.steps_left = steps_left
        self.steps = self.tokens = 0
        self.began = time.monotonic()

    def add(self, tokens: int) -> None:
        """Count one more step."""
        self.steps += 1
        self.tokens += tokens
        self.steps_left = max(0, self.steps_left - 1)

    @property
    def seconds(self) -> float:
        """Since the loop began, this time."""
        return time.monotonic() - self.began

    @property
    def tokens_per_second(self) -> float:
        """Target tokens, padding not counted."""
        return self.tokens / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """At the pace so far."""
        return self.steps_left * self.seconds / max(self.steps, 1)
