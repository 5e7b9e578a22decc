"""What a run tells while it runs. The command line draws it; anyone else may listen, or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class StepDone:
    """One step of the optimiser."""

    step: int
    max_steps: int
    epoch: int
    loss: float  # mean per target token of this step
    rate: float
    tokens_per_second: float
    seconds_left: float


@dataclass(frozen=True)
class Sample:
    """One validation sentence and what the model makes of it."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class Validated:
    """A look at the validation data."""

    step: int
    loss: float  # cross-entropy per target token, without smoothing
    bleu: float | None
    is_best: bool
    samples: tuple[Sample, ...]


class Listener(Protocol):
    """Hears what happens."""

    def working(self, what: str, done: int, total: int | None) -> None:
        """Preparation goes on."""

    def note(self, text: str) -> None:
        """Something worth a line."""

    def stepped(self, event: StepDone) -> None:
        """A step is done."""

    def validated(self, event: Validated) -> None:
        """The validation data was looked at."""


class Silence:
    """The listener of a run that nobody watches."""

    def working(self, what: str, done: int, total: int | None) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def stepped(self, event: StepDone) -> None:
        """Say nothing."""

    def validated(self, event: Validated) -> None:
        """Say nothing."""
