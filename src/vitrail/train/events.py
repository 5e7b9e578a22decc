"""The events of a run. The command line displays them; other programs may listen too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class StepDone:
    """One optimiser step."""

    step: int
    max_steps: int
    epoch: int
    loss: float  # mean per target token in this step
    rate: float
    tokens_per_second: float
    seconds_left: float


@dataclass(frozen=True)
class Sample:
    """One validation sentence and its current translation."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class Validated:
    """The result of a validation."""

    step: int
    loss: float  # cross-entropy per target token, without label smoothing
    bleu: float | None
    is_best: bool
    samples: tuple[Sample, ...]


class Listener(Protocol):
    """Receives the events of a run."""

    def working(self, what: str, done: int, total: int | None) -> None:
        """Progress in preparing the data."""

    def note(self, text: str) -> None:
        """A message for the user."""

    def stepped(self, event: StepDone) -> None:
        """A step was completed."""

    def validated(self, event: Validated) -> None:
        """A validation was completed."""


class Silence:
    """A listener that ignores everything."""

    def working(self, what: str, done: int, total: int | None) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""

    def stepped(self, event: StepDone) -> None:
        """Do nothing."""

    def validated(self, event: Validated) -> None:
        """Do nothing."""
