"""BLEU, chrF and TER through sacrebleu, on raw text, with what it takes to repeat them: the signatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from vitrail.errors import ConfigError, did_you_mean
from vitrail.evaluate.exact import check_aligned

# Those of sacrebleu's that work offline and without further packages.
TOKENIZERS = ("13a", "intl", "char", "zh", "none")
RESAMPLES = 1000


@dataclass(frozen=True)
class Measure:
    """One metric's score, and its 95 % confidence interval by bootstrap: mean ± interval."""

    name: str  # BLEU, chrF2, TER
    score: float
    mean: float | None  # None: no interval was asked for
    interval: float | None
    signature: str
    detail: str = ""  # BLEU's n-gram precisions and brevity penalty

    def __str__(self) -> str:
        return f"{self.name:5} {with_interval(self.score, self.mean, self.interval)} {self.detail}".rstrip()


@dataclass(frozen=True)
class Report:
    """What a set of translations is worth, against its references."""

    lines: int
    bleu: Measure
    chrf: Measure
    ter: Measure  # an error rate: lower is better

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        measures = (self.bleu, self.chrf, self.ter)
        signatures = (f"{measure.name}|{measure.signature}" for measure in measures)
        return "\n".join([*map(str, measures), *signatures])


def measure(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
    resamples: int = RESAMPLES,
) -> Report:
    """Score translations against one reference each. `resamples` of 0 leaves the confidence intervals out."""
    check_aligned(hypotheses, references, name="the translations")
    metrics = sacrebleu_metrics(references, tokenize=tokenize, lowercase=lowercase)
    bleu, chrf, ter = (_measure(metric, hypotheses, resamples) for metric in metrics.values())
    return Report(lines=len(references), bleu=bleu, chrf=chrf, ter=ter)


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a", lowercase: bool = False
) -> float:
    """BLEU alone, without an interval: quick enough to follow a training run."""
    check_aligned(hypotheses, references, name="the translations")
    check_tokenizer(tokenize)
    return float(BLEU(tokenize=tokenize, lowercase=lowercase).corpus_score(hypotheses, [references]).score)


def sacrebleu_metrics(references: Sequence[str], *, tokenize: str, lowercase: bool) -> dict[str, Metric]:
    """sacrebleu's metrics, ready to score any number of systems against these references."""
    check_tokenizer(tokenize)
    return {
        # Whoever asks for no tokenizer knows that the text is in tokens already: sacrebleu need not warn of it.
        "BLEU": BLEU(tokenize=tokenize, lowercase=lowercase, references=[references], force=tokenize == "none"),
        "CHRF": CHRF(lowercase=lowercase, references=[references]),
        "TER": TER(references=[references]),  # never looks at case: TERCOM's default, and sacrebleu's
    }


def with_interval(score: float, mean: float | None, interval: float | None) -> str:
    """A score as it is printed: "34.2 (μ = 34.1 ± 1.2)"."""
    return f"{score:.1f}" if mean is None else f"{score:.1f} (μ = {mean:.1f} ± {interval:.1f})"


def _measure(metric: Metric, hypotheses: Sequence[str], resamples: int) -> Measure:
    found = metric.corpus_score(hypotheses, references=None, n_bootstrap=max(resamples, 1))
    has_interval = resamples > 1
    return Measure(
        name=found.name,
        score=float(found.score),
        # sacrebleu shows them in its text only; this is where it keeps them.
        mean=float(found._mean) if has_interval else None,
        interval=float(found._ci) if has_interval else None,
        signature=metric.get_signature().format(),
        detail=found._verbose,
    )


def check_tokenizer(tokenize: str) -> None:
    """Refuse a tokenizer that sacrebleu does not have, or would have to download."""
    if tokenize not in TOKENIZERS:
        known = f"known here: {', '.join(TOKENIZERS)}"
        if tokenize in BLEU.TOKENIZERS:
            fix = f"sacrebleu downloads it or needs another package, Vitrail works offline; {known}"
        else:
            fix = did_you_mean(tokenize, TOKENIZERS) or known
        raise ConfigError(f"unknown tokenizer '{tokenize}'", where="tokenize", fix=fix)
