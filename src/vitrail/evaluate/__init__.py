"""BLEU, chrF and TER with signatures; comparisons between systems."""

from vitrail.evaluate.comparison import Comparison, PairedMeasure, System, compare
from vitrail.evaluate.exact import check_aligned, exact_share
from vitrail.evaluate.metrics import TOKENIZERS, Measure, Report, bleu, check_tokenizer, measure

__all__ = [
    "TOKENIZERS",
    "Comparison",
    "Measure",
    "PairedMeasure",
    "Report",
    "System",
    "bleu",
    "check_aligned",
    "check_tokenizer",
    "compare",
    "exact_share",
    "measure",
]
