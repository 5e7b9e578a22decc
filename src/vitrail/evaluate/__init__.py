"""BLEU, chrF and TER with signatures; comparisons between systems."""

from vitrail.evaluate.comparison import Comparison, PairedMeasure, System, compare
from vitrail.evaluate.exact import exact_share
from vitrail.evaluate.metrics import TOKENIZERS, Measure, Report, bleu, measure

__all__ = [
    "TOKENIZERS",
    "Comparison",
    "Measure",
    "PairedMeasure",
    "Report",
    "System",
    "bleu",
    "compare",
    "exact_share",
    "measure",
]
