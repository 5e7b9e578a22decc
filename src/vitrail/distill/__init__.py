"""Sequence-level distillation (Kim and Rush 2016): a student learns from its teacher's translations."""

from vitrail.distill.plan import Part, Plan, pair_line, sentences_corpus
from vitrail.distill.table import TABLE, Row, System, Table, compare_speed_and_quality

__all__ = [
    "TABLE",
    "Part",
    "Plan",
    "Row",
    "System",
    "Table",
    "compare_speed_and_quality",
    "pair_line",
    "sentences_corpus",
]
