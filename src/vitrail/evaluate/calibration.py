"""Fit how sure a model may be of its translations: translate sentences with references, and see which came out well."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.chrf import CHRF

from vitrail.confidence import Curve
from vitrail.errors import DataError
from vitrail.translator import Translator

GOOD = 50.0  # chrF of a good translation, out of 100
FEWEST = 20  # sentences of each sort

Floats = NDArray[np.float64]
Report = Callable[[str, int, int | None], None]


def calibrate(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    *,
    to: str | None,
    report: Report | None = None,
) -> Curve:
    """Fit the curve of one target language."""
    done = translator.translate(list(sources), to=to, on_unknown="skip", report=report)
    judged = [(one, reference) for one, reference in zip(done, references, strict=True) if one.confidence is not None]
    metric = CHRF()
    is_good = np.array([metric.sentence_score(one.text, [reference]).score >= GOOD for one, reference in judged])
    if min(is_good.sum(), (~is_good).sum()) < FEWEST:
        raise DataError(
            f"{int(is_good.sum()):,} of {len(is_good):,} translations are good (chrF {GOOD:g} or more): too one-sided",
            where="the validation data",
            fix=f"give more sentences: at least {FEWEST} good ones and {FEWEST} others are needed",
        )
    means = np.array([one.mean_log_prob for one, _ in judged])
    slope, bias = fit(means, is_good)
    return Curve(
        slope=slope, bias=bias, sentences=len(means), good=int(is_good.sum()), auc=area(means[is_good], means[~is_good])
    )


def fit(x: Floats, is_good: NDArray[np.bool_]) -> tuple[float, float]:
    """Logistic regression on one number by Newton's method; a little decay keeps separable data finite."""
    design = np.stack([x - x.mean(), np.ones_like(x)], axis=1)
    weights = np.zeros(2)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -50, 50)))
        gradient = design.T @ (is_good - chance) - 1e-3 * weights
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + 1e-3 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    return float(weights[0]), float(weights[1] - weights[0] * x.mean())


def area(good: Floats, others: Floats) -> float:
    """The area under the ROC curve: how often a good translation is above another; ties count half."""
    ordered = np.sort(others)
    below, not_above = np.searchsorted(ordered, good, "left"), np.searchsorted(ordered, good, "right")
    return float((below + not_above).sum() / 2 / (len(good) * len(others)))
