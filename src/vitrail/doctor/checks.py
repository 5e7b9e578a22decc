"""All checks, in the order in which they report. A further check is a function and one entry here."""

from __future__ import annotations

from collections.abc import Iterator

from vitrail.doctor import averaging, batches, corpora, curves, settings
from vitrail.doctor.case import Case, Check, Finding

STATIC: tuple[Check, ...] = (
    corpora.misaligned_stretches,
    corpora.wrong_language,
    corpora.copies,
    corpora.duplicates,
    corpora.shared_with_validation,
    settings.pairs_above_max_length,
    settings.vocabulary_too_large,
    settings.batch_that_does_not_fit,
    settings.batch_too_small,
    settings.warm_up_too_long,
    settings.no_validation,
    curves.still_improving,
    curves.overfitted,
    curves.diverged,
    curves.slow_validation,
)
PROBES: tuple[Check, ...] = (averaging.best_average, batches.best_batch)  # they take minutes


def examine(case: Case, *, probe: bool = False) -> Iterator[Finding]:
    """Everything that is found, as it is found."""
    for check in (*STATIC, *(PROBES if probe else ())):
        yield from check(case)
