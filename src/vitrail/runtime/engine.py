"""What a translator asks of an engine: source rows in, hypotheses out, by the search rule of ARCHITECTURE.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from vitrail.config import DecodeConfig
from vitrail.decode.hypothesis import Hypothesis
from vitrail.decode.rule import Rule
from vitrail.decode.terms import Terms, are_asked
from vitrail.runtime.shortlist import Shortlist

Report = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Job:
    """Sentences to translate, as rows of ids, and how."""

    rows: Sequence[Sequence[int]]
    config: DecodeConfig
    forbidden: tuple[int, ...] = ()  # ids that no translation may contain
    prefixes: Sequence[Sequence[int]] | None = None  # the ids that the translation of each row begins with
    rule: Rule | None = None  # what else translations may not contain
    terms: Sequence[Terms | None] | None = None  # what the translation of each row must contain, if it can
    shortlist: Shortlist | None = None  # `Runtime` reads it if the config asks for it

    def of(self, numbers: Sequence[int]) -> Job:
        """The same for some of the rows."""
        return replace(
            self,
            rows=[self.rows[number] for number in numbers],
            prefixes=None if self.prefixes is None else [self.prefixes[number] for number in numbers],
            terms=None if self.terms is None else [self.terms[number] for number in numbers],
        )

    @property
    def has_terms(self) -> bool:
        """Whether any translation must contain something."""
        return are_asked(self.terms)


Results = Callable[[], list[list[Hypothesis]]]  # waits for the hypotheses of every row, best first


class Engine(Protocol):
    """One way to compute translations."""

    name: str  # a name in config.ENGINES

    def why_not(self, job: Job) -> str | None:
        """Why this engine cannot do a job; None if it can."""

    def begin(self, job: Job, report: Report | None = None) -> Results:
        """Start a job. An engine with workers of its own computes while the caller does something else."""
