"""The metrics. Each is one entry in METRICS; reports, comparisons, JSON and printed tables go through that table.

BLEU, chrF and TER are sacrebleu's, on raw text, with signatures that say how to repeat them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from vitrail.errors import ConfigError, did_you_mean
from vitrail.evaluate.resampling import SEED, Sums

# sacrebleu's tokenizers that work offline and without further packages.
TOKENIZERS = ("13a", "intl", "char", "zh", "none")


@dataclass(frozen=True)
class Options:
    """How to compare texts. A metric uses what applies to it."""

    tokenize: str = "13a"  # sacrebleu's tokenizer for BLEU
    lowercase: bool = False


@dataclass(frozen=True)
class Scored:
    """A score, with details if the metric has any."""

    score: float
    detail: str = ""  # BLEU's n-gram precisions and brevity penalty


class Scorer(Protocol):
    """A metric with its options and references, ready to score any number of systems.

    It describes every line by a row of numbers. The sums of some lines' rows are all it needs to score these lines, so
    that a resampled test set is scored without looking at its text again. A mean over lines has rows (score, 1).
    """

    def rows(self, hypotheses: Sequence[str]) -> Sequence[Sequence[float]]:
        """The row of every line."""

    def score(self, sums: Sums) -> Scored:
        """The score of lines whose rows have these sums."""

    def signature(self, resamples: int) -> str:
        """How to repeat the score, and its interval if there were resamples."""


@dataclass(frozen=True)
class Metric:
    """One way to judge translations against one reference each."""

    key: str  # in JSON
    name: str  # in print
    scorer: Callable[[Sequence[str], Options], Scorer]  # from references and options
    higher_is_better: bool = True


class _Sacrebleu:
    """One of sacrebleu's metrics, whose references it already has."""

    def __init__(self, metric: SacrebleuMetric) -> None:
        self._metric = metric

    def rows(self, hypotheses: Sequence[str]) -> Sequence[Sequence[float]]:
        found: list[list[float]] = self._metric._extract_corpus_statistics(hypotheses, None)
        return found

    def score(self, sums: Sums) -> Scored:
        found = self._metric._compute_score_from_stats(sums)  # type: ignore[arg-type]  # an array will do, it says
        return Scored(found.score, found._verbose)

    def signature(self, resamples: int) -> str:
        signature = self._metric.get_signature()
        if resamples:
            signature.update("bs", resamples)
            signature.update("seed", SEED)
        return str(signature.format())


def _bleu(references: Sequence[str], options: Options) -> Scorer:
    check_tokenizer(options.tokenize)
    return _Sacrebleu(
        BLEU(
            tokenize=options.tokenize,
            lowercase=options.lowercase,
            references=[references],
            # sacrebleu warns about text that looks tokenized. With tokenize "none", it is meant to be.
            force=options.tokenize == "none",
        )
    )


def _chrf(references: Sequence[str], options: Options) -> Scorer:
    return _Sacrebleu(CHRF(lowercase=options.lowercase, references=[references]))


def _ter(references: Sequence[str], options: Options) -> Scorer:
    return _Sacrebleu(TER(references=[references]))  # always ignores case: the default of TERCOM and sacrebleu


METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        Metric("bleu", "BLEU", _bleu),
        Metric("chrf", "chrF2", _chrf),
        Metric("ter", "TER", _ter, higher_is_better=False),
    )
}


def check_tokenizer(tokenize: str) -> None:
    """Refuse a tokenizer that sacrebleu does not have, or would have to download."""
    if tokenize not in TOKENIZERS:
        known = f"known here: {', '.join(TOKENIZERS)}"
        if tokenize in BLEU.TOKENIZERS:
            fix = f"sacrebleu downloads it or needs another package, but Vitrail works offline; {known}"
        else:
            fix = did_you_mean(tokenize, TOKENIZERS) or known
        raise ConfigError(f"unknown tokenizer '{tokenize}'", where="tokenize", fix=fix)
