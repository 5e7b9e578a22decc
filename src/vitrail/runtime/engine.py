"""What a translator asks of an engine: source rows in, hypotheses out, by the search rule of ARCHITECTURE.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from vitrail.config import DecodeConfig
from vitrail.decode.hypothesis import Hypothesis
from vitrail.runtime.shortlist import Shortlist

Report = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Job:
    """Sentences to translate, as rows of ids, and how."""

    rows: Sequence[Sequence[int]]
    config: DecodeConfig
    forbidden: tuple[int, ...] = ()  # ids that no translation may contain
    prefix: tuple[int, ...] = ()  # ids that every translation begins with
    shortlist: Shortlist | None = None  # `Runtime` reads it if the config asks for it


Results = Callable[[], list[list[Hypothesis]]]  # waits for the hypotheses of every row, best first


class Engine(Protocol):
    """One way to compute translations."""

    name: str  # a name in config.ENGINES

    def why_not(self, job: Job) -> str | None:
        """Why this engine cannot do a job; None if it can."""

    def begin(self, job: Job, report: Report | None = None) -> Results:
        """Start a job. An engine with workers of its own computes while the caller does something else."""
