"""Which pairs of a corpus are skipped, why, and the report on it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from vitrail.config import DataConfig
from vitrail.data.corpora import Corpus, Pair
from vitrail.documents import Count, Document
from vitrail.errors import DataError

FIRST_LINES = 5  # how many line numbers to remember for each reason
RATIO_FROM = 10  # tokens on the longer side; below, any ratio passes: "oui" may well be "yes, of course"

# C0 and C1 control characters except tab, which counts as white space.
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")


class Reason(StrEnum):
    """Why a pair is skipped."""

    BROKEN = "broken UTF-8"
    EMPTY = "empty"
    CONTROL = "control characters"
    IDENTICAL = "source equal to target"
    HELD_OUT = "held out for validation"
    DUPLICATE = "duplicate"
    LONG = "too long"
    RATIO = "odd length ratio"


def reason_in_text(pair: Pair, config: DataConfig) -> Reason | None:
    """Why a pair's text cannot be used; None if it can."""
    if pair.source is None or pair.target is None:
        return Reason.BROKEN
    source, target = pair.source.strip(), pair.target.strip()
    if not source or not target:
        return Reason.EMPTY
    if _CONTROL.search(source) or _CONTROL.search(target):
        return Reason.CONTROL
    if config.drop_identical and source == target:
        return Reason.IDENTICAL
    return None


def reason_in_lengths(source: int, target: int, config: DataConfig) -> Reason | None:
    """Why a pair with these token counts (without specials) cannot be used; None if it can."""
    shorter, longer = sorted((source, target))
    if longer > config.max_length:
        return Reason.LONG
    if shorter == 0:  # text without tokens, such as a lone zero-width space
        return Reason.EMPTY
    if longer >= RATIO_FROM and longer > config.max_ratio * shorter:
        return Reason.RATIO
    return None


@dataclass(frozen=True)
class LeftOut:
    """The pairs skipped for one reason."""

    reason: Reason
    count: int
    first: tuple[tuple[str, int], ...]  # corpus and line of the first few


class LeftOutEntry(Document):
    """A LeftOut as JSON, with lists and strings in place of tuples and Reasons."""

    reason: Annotated[Reason, Field(strict=False)]
    count: Count
    first: list[Annotated[tuple[str, Count], Field(strict=False)]]


class ReportEntry(Document):
    """A FilterReport as JSON."""

    read: Count
    kept: Count
    left_out: list[LeftOutEntry]
    notes: list[str]


@dataclass(frozen=True)
class FilterReport:
    """How many pairs were read and kept, why the others were skipped, and further notes."""

    read: int
    kept: int
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The report as lines of text."""
        gone = self.read - self.kept
        head = f"{self.read:,} pairs read, {self.kept:,} kept" + (f", {gone:,} skipped:" if gone else "")
        return [head, *(f"  {_described(entry)}" for entry in self.left_out), *self.notes]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object."""
        left_out = [{"reason": entry.reason, "count": entry.count, "first": entry.first} for entry in self.left_out]
        return {"read": self.read, "kept": self.kept, "left_out": left_out, "notes": self.notes}

    @classmethod
    def of(cls, entry: ReportEntry) -> FilterReport:
        """The report that `to_json` wrote."""
        left_out = (LeftOut(one.reason, one.count, tuple(one.first)) for one in entry.left_out)
        return cls(entry.read, entry.kept, tuple(left_out), tuple(entry.notes))


@dataclass
class Tally:
    """Counts skipped pairs. With `strict`, the first one is an error."""

    strict: bool
    counts: dict[Reason, int] = field(default_factory=dict)
    first: dict[Reason, list[tuple[str, int]]] = field(default_factory=dict)

    def leave_out(self, reason: Reason, corpus: Corpus, line: int) -> None:
        """Record one skipped pair."""
        if self.strict and reason is not Reason.HELD_OUT:
            raise DataError(
                f"this pair cannot be used for training: {reason}",
                where=corpus.where(line),
                fix="correct the corpus, or set strict = false to skip such pairs",
            )
        self.counts[reason] = self.counts.get(reason, 0) + 1
        examples = self.first.setdefault(reason, [])
        if len(examples) < FIRST_LINES:
            examples.append((corpus.name, line))

    def total(self) -> int:
        """The number of skipped pairs."""
        return sum(self.counts.values())

    def report(self, read: int, notes: Iterable[str]) -> FilterReport:
        """The final report."""
        left_out = (LeftOut(reason, count, tuple(self.first[reason])) for reason, count in self.counts.items())
        by_count = tuple(sorted(left_out, key=lambda entry: (-entry.count, entry.reason)))
        return FilterReport(read, read - self.total(), by_count, tuple(notes))


def nothing_left(corpus: Corpus, tally: Tally) -> DataError:
    """The error for a corpus with no usable pair."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in tally.counts.items())
    return DataError(
        f"no pair of this corpus can be used: {reasons}", where=corpus.name, fix="check that these are the right files"
    )


def _described(entry: LeftOut) -> str:
    lines: dict[str, list[str]] = {}
    for corpus, line in entry.first:
        lines.setdefault(corpus, []).append(str(line))
    more = ", …" if entry.count > len(entry.first) else ""
    places = "; ".join(f"{corpus} line {', '.join(numbers)}" for corpus, numbers in lines.items())
    fix = "; save the file as UTF-8" if entry.reason is Reason.BROKEN else ""
    return f"{entry.count:,} {entry.reason} ({places}{more}{fix})"
