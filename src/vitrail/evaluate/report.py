"""Score a set of translations by every metric, with confidence intervals and signatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vitrail.evaluate.exact import check_aligned
from vitrail.evaluate.metrics import METRICS, Metric, Options
from vitrail.evaluate.resampling import RESAMPLES, confidence, rescore, total


@dataclass(frozen=True)
class Measure:
    """One metric's score, and its 95 % confidence interval by bootstrap: mean ± interval."""

    key: str
    name: str
    score: float
    mean: float | None  # None: no interval was asked for
    interval: float | None
    signature: str
    detail: str
    higher_is_better: bool

    def to_dict(self) -> dict[str, Any]:
        """The measure as plain values, for JSON, where its key is the name of the object."""
        return {name: value for name, value in asdict(self).items() if name != "key"}

    def __str__(self) -> str:
        note = "" if self.higher_is_better else "(lower is better)"
        return " ".join(filter(None, (with_interval(self.score, self.mean, self.interval), self.detail, note)))


@dataclass(frozen=True)
class Report:
    """The measures of a set of translations, in the order of METRICS. `report["bleu"]` is one of them."""

    lines: int
    measures: tuple[Measure, ...]

    def __getitem__(self, key: str) -> Measure:
        return {measure.key: measure for measure in self.measures}[key]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return {"lines": self.lines, **{measure.key: measure.to_dict() for measure in self.measures}}

    def __str__(self) -> str:
        width = max(len(measure.name) for measure in self.measures)
        scores = (f"{measure.name:{width}} {measure}" for measure in self.measures)
        signatures = (f"{measure.name}|{measure.signature}" for measure in self.measures)
        return "\n".join([*scores, *signatures])


def measure(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
    resamples: int = RESAMPLES,
) -> Report:
    """Score translations against one reference each. With `resamples` of 0, there are no confidence intervals."""
    check_aligned(hypotheses, references, name="the translations")
    options = Options(tokenize=tokenize, lowercase=lowercase)
    measures = tuple(_measure(metric, hypotheses, references, options, resamples) for metric in METRICS.values())
    return Report(lines=len(references), measures=measures)


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a", lowercase: bool = False
) -> float:
    """BLEU alone, without an interval: fast enough for validation during training."""
    check_aligned(hypotheses, references, name="the translations")
    options = Options(tokenize=tokenize, lowercase=lowercase)
    return _measure(METRICS["bleu"], hypotheses, references, options, resamples=0).score


def with_interval(score: float, mean: float | None, interval: float | None) -> str:
    """How to print a score: "34.2 (μ = 34.1 ± 1.2)"."""
    return f"{score:.1f}" if mean is None else f"{score:.1f} (μ = {mean:.1f} ± {interval:.1f})"


def _measure(
    metric: Metric, hypotheses: Sequence[str], references: Sequence[str], options: Options, resamples: int
) -> Measure:
    scorer = metric.scorer(references, options)
    rows = scorer.rows(hypotheses)
    found = scorer.score(total(rows))
    mean, interval = None, None
    if resamples:
        mean, interval = confidence(rescore(rows, lambda sums: scorer.score(sums).score, resamples=resamples))
    return Measure(
        key=metric.key,
        name=metric.name,
        score=float(found.score),
        mean=mean,
        interval=interval,
        signature=scorer.signature(resamples),
        detail=found.detail,
        higher_is_better=metric.higher_is_better,
    )
