"""A test set sentence by sentence, from the worst translation to the best, with what is wrong and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vitrail.evaluate.causes import Cause
from vitrail.evaluate.comparison import Comparison
from vitrail.evaluate.metrics import METRICS, Options
from vitrail.evaluate.mistakes import Mistake, mistakes, shared
from vitrail.evaluate.report import Report
from vitrail.evaluate.resampling import total

JUDGE = METRICS["chrf"]  # of single sentences: BLEU and TER jump about on a few words


@dataclass(frozen=True)
class Translated:
    """What one system made of a test set."""

    name: str
    texts: Sequence[str]
    unknown: Sequence[Sequence[str]]  # of each line: words for which it was left untranslated


@dataclass(frozen=True)
class Judged:
    """One system's translation of one sentence."""

    text: str
    score: float  # by JUDGE
    mistakes: tuple[Mistake, ...]
    parts: tuple[tuple[str, bool], ...]  # of the text, each with whether the reference has it


@dataclass(frozen=True)
class Sentence:
    """One line of the test set, with the translation of every system."""

    line: int  # from 1
    source: str
    reference: str
    parts: tuple[tuple[str, bool], ...]  # of the reference, each with whether the first system has it
    judged: tuple[Judged, ...]
    cause: Cause | None = None  # of the first system's mistakes
    page: str | None = None  # where the first system's translation can be looked at


def diagnose(
    systems: Sequence[Translated], sources: Sequence[str], references: Sequence[str], *, lowercase: bool = False
) -> list[Sentence]:
    """Judge every sentence; the first system's worst comes first."""
    scorer = JUDGE.scorer(references, Options(lowercase=lowercase))
    scores = [[scorer.score(total([row])).score for row in scorer.rows(system.texts)] for system in systems]
    found = [
        Sentence(
            line=number + 1,
            source=source,
            reference=reference,
            parts=tuple(shared(reference, systems[0].texts[number])),
            judged=tuple(
                Judged(
                    text=system.texts[number],
                    score=scores[place][number],
                    mistakes=tuple(mistakes(source, system.texts[number], reference, system.unknown[number])),
                    parts=tuple(shared(system.texts[number], reference)),
                )
                for place, system in enumerate(systems)
            ),
        )
        for number, (source, reference) in enumerate(zip(sources, references, strict=True))
    ]
    return sorted(found, key=lambda sentence: sentence.judged[0].score)


def scores_of(measured: Report | Comparison) -> list[dict[str, Any]]:
    """The metrics as plain values: name, signature, and each system's score with its interval and p-value."""
    if isinstance(measured, Report):
        return [
            {
                "name": each.name,
                "signature": each.signature,
                "higher_is_better": each.higher_is_better,
                "systems": [{"score": each.score, "mean": each.mean, "interval": each.interval, "p_value": None}],
            }
            for each in measured.measures
        ]
    return [
        {
            "name": name,
            "signature": signature,
            "higher_is_better": name not in measured.lower_is_better,
            "systems": [vars(system.measures[name]) for system in measured.systems],
        }
        for name, signature in measured.signatures.items()
    ]
