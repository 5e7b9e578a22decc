"""How certain is a score? The bootstrap: score many test sets drawn from the lines of the real one.

The draws and the precision are sacrebleu's, so intervals and p-values equal those that its command prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

SEED = 12345  # sacrebleu's
RESAMPLES = 1000

Sums = NDArray[np.floating]
Scores = NDArray[np.floating]


def total(rows: Sequence[Sequence[float]]) -> Sums:
    """The sums of all lines' rows."""
    sums: Sums = np.array(rows, dtype=np.float64).sum(axis=0)
    return sums


def rescore(rows: Sequence[Sequence[float]], score: Callable[[Sums], float], *, resamples: int) -> Scores:
    """The scores of `resamples` test sets, each as large as the real one and drawn from its lines with replacement.

    Systems that are scored on the same number of lines get the same draws, so their scores can be compared in pairs.
    """
    draws = np.random.default_rng(SEED).choice(len(rows), size=(resamples, len(rows)), replace=True)
    numbers = np.array(rows, dtype=np.float32)
    return np.array([score(numbers[drawn].sum(axis=0)) for drawn in draws])


def confidence(scores: Scores) -> tuple[float, float]:
    """The mean of resampled scores, and half the width of the interval that holds 95 % of them."""
    ordered = np.sort(scores)
    tail = len(ordered) // 40
    return float(ordered.mean()), float(0.5 * (ordered[-tail - 1] - ordered[tail]))


def p_value(scores: Scores, baseline: Scores, *, difference: float) -> float:
    """How likely a difference between two systems this large is by chance: the paired bootstrap test (Koehn 2004)."""
    differences = np.abs(scores - baseline)
    if not differences.any():
        return 1.0  # sacrebleu would report 1 / (resamples + 1), as if they differed significantly
    larger = int(np.sum(differences - differences.mean() > abs(difference)))
    return (larger + 1) / (len(differences) + 1)
