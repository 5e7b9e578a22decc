"""BLEU, chrF and TER with signatures; comparisons between systems."""

from vitrail.evaluate.comparison import Comparison, PairedMeasure, System, compare
from vitrail.evaluate.exact import check_aligned, exact_share
from vitrail.evaluate.metrics import METRICS, TOKENIZERS, Metric, Options, Scored, Scorer, check_tokenizer
from vitrail.evaluate.report import Measure, Report, bleu, measure
from vitrail.evaluate.shortlist_cost import ShortlistCost, shortlist_cost

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
    "ShortlistCost",
    "System",
    "bleu",
    "check_aligned",
    "check_tokenizer",
    "compare",
    "exact_share",
    "measure",
    "shortlist_cost",
]
