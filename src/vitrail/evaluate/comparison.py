"""Is one system better than another, or was it luck? The paired bootstrap test, through sacrebleu."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.significance import PairedTest

from vitrail.errors import DataError
from vitrail.evaluate.exact import check_aligned
from vitrail.evaluate.metrics import RESAMPLES, sacrebleu_metrics, with_interval


@dataclass(frozen=True)
class PairedMeasure:
    """One metric's score of one system, its 95 % confidence interval, and the test against the first system."""

    score: float
    mean: float
    interval: float
    p_value: float | None  # None: this is the system that the others are compared with

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
    """Several systems on the same test set; the first is the one that the others are compared with."""

    lines: int
    systems: tuple[System, ...]
    signatures: dict[str, str]  # by the name of the metric

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        width = max(len(system.name) for system in self.systems)
        scores = (
            f"{name:5} {system.name:{width}} {system.measures[name]}"
            for name in self.signatures
            for system in self.systems
        )
        legend = f"p: paired bootstrap test against {self.systems[0].name}; * more than luck (p < 0.05)"
        return "\n".join([*scores, legend, *(f"{name}|{text}" for name, text in self.signatures.items())])


def compare(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Score several systems' translations, and test each against the first with the same resampled test sets."""
    if len(systems) < 2:
        raise DataError(
            "there is only one system to compare", where=", ".join(systems) or None, fix="name two that are different"
        )
    for name, hypotheses in systems.items():
        check_aligned(hypotheses, references, name=name)
    metrics = sacrebleu_metrics(references, tokenize=tokenize, lowercase=lowercase)
    test = PairedTest(
        [(name, list(hypotheses)) for name, hypotheses in systems.items()],
        metrics,
        references=None,  # the metrics have them
        test_type="bs",
        n_samples=resamples,
    )
    signatures, found = test()
    return Comparison(
        lines=len(references),
        systems=tuple(
            System(name, {metric: _paired(found[metric][number], found[metric][0]) for metric in signatures})
            for number, name in enumerate(systems)
        ),
        signatures={metric: signature.format() for metric, signature in signatures.items()},
    )


def _paired(result: Any, first: Any) -> PairedMeasure:
    # Of systems that never differ sacrebleu says p = 1 / (resamples + 1), as if they differed significantly.
    never_differ = (result.score, result.mean, result.ci) == (first.score, first.mean, first.ci)
    p_value = 1.0 if result.p_value is not None and never_differ else result.p_value
    return PairedMeasure(score=float(result.score), mean=float(result.mean), interval=float(result.ci), p_value=p_value)
