"""Compare systems by every metric, with the paired bootstrap test: is the difference significant?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vitrail.errors import ConfigError, DataError
from vitrail.evaluate.exact import check_aligned
from vitrail.evaluate.metrics import METRICS, Options, Scorer
from vitrail.evaluate.report import with_interval
from vitrail.evaluate.resampling import RESAMPLES, Scores, confidence, p_value, rescore, total


@dataclass(frozen=True)
class PairedMeasure:
    """One metric's score of one system, its 95 % confidence interval, and the test against the first system."""

    score: float
    mean: float
    interval: float
    p_value: float | None  # None: this is the first system

    def __str__(self) -> str:
        printed = with_interval(self.score, self.mean, self.interval)
        if self.p_value is None:
            return printed
        return f"{printed} p = {self.p_value:.4f}{' *' if self.p_value < 0.05 else ''}"


@dataclass(frozen=True)
class System:
    """One system's scores, by the name of the metric."""

    name: str
    measures: dict[str, PairedMeasure]


@dataclass(frozen=True)
class Comparison:
    """Several systems on the same test set. The others are compared with the first."""

    lines: int
    systems: tuple[System, ...]
    signatures: dict[str, str]  # by the name of the metric
    lower_is_better: tuple[str, ...]  # names of metrics

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        of_metric, of_system = max(map(len, self.signatures)), max(len(system.name) for system in self.systems)
        scores = (
            f"{name:{of_metric}} {system.name:{of_system}} {system.measures[name]}"
            for name in self.signatures
            for system in self.systems
        )
        legend = [f"p: paired bootstrap test against {self.systems[0].name}; * significant (p < 0.05)"]
        if self.lower_is_better:
            legend.append(f"lower is better: {', '.join(self.lower_is_better)}")
        return "\n".join([*scores, *legend, *(f"{name}|{text}" for name, text in self.signatures.items())])


def compare(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Score several systems' translations, and test each against the first on the same resampled test sets."""
    if len(systems) < 2:
        raise DataError(
            "there is only one system to compare", where=", ".join(systems) or None, fix="name two different systems"
        )
    if resamples < 1:
        raise ConfigError("a comparison needs resampled test sets", where="resamples", fix=f"for example {RESAMPLES}")
    for name, hypotheses in systems.items():
        check_aligned(hypotheses, references, name=name)
    options = Options(tokenize=tokenize, lowercase=lowercase)
    scorers = {metric.name: metric.scorer(references, options) for metric in METRICS.values()}
    found = {name: _test(scorer, list(systems.values()), resamples) for name, scorer in scorers.items()}
    return Comparison(
        lines=len(references),
        systems=tuple(
            System(system, {name: measures[number] for name, measures in found.items()})
            for number, system in enumerate(systems)
        ),
        signatures={name: scorer.signature(resamples) for name, scorer in scorers.items()},
        lower_is_better=tuple(metric.name for metric in METRICS.values() if not metric.higher_is_better),
    )


def _test(scorer: Scorer, systems: Sequence[Sequence[str]], resamples: int) -> list[PairedMeasure]:
    """One metric's measures of every system."""
    measures: list[PairedMeasure] = []
    first: Scores | None = None
    for hypotheses in systems:
        rows = scorer.rows(hypotheses)
        score = float(scorer.score(total(rows)).score)
        resampled = rescore(rows, lambda sums: scorer.score(sums).score, resamples=resamples)
        chance = None if first is None else p_value(resampled, first, difference=score - measures[0].score)
        measures.append(PairedMeasure(score, *confidence(resampled), chance))
        first = resampled if first is None else first
    return measures
