"""BLEU, chrF and TER with signatures; comparisons between systems."""

from vitrail.evaluate.comparison import Comparison, PairedMeasure, System, compare
from vitrail.evaluate.exact import check_aligned, exact_share
from vitrail.evaluate.metrics import METRICS, TOKENIZERS, Metric, Options, Scored, Scorer, check_tokenizer
from vitrail.evaluate.report import Measure, Report, bleu, measure

__all__ = [
    "METRICS",
    "TOKENIZERS",
    "Comparison",
    "Measure",
    "Metric",
    "Options",
    "PairedMeasure",
    "Report",
    "Scored",
    "Scorer",
    "System",
    "bleu",
    "check_aligned",
    "check_tokenizer",
    "compare",
    "exact_share",
    "measure",
]
