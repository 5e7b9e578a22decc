"""From a sentence to its explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from vitrail.explain.notebook import Explanation
from vitrail.explain.page import page_size
from vitrail.trace import TraceOptions, record
from vitrail.trace.lighter import PAGE_MB
from vitrail.trace.record import MAX_MB

if TYPE_CHECKING:
    from vitrail.translator import Translator


def explain(translator: Translator, text: str, **options: Unpack[TraceOptions]) -> Explanation:
    """Translate a sentence and explain how. Options are those of `record`; here `max_mb` limits the whole page."""
    max_mb = options.get("max_mb", MAX_MB)
    options["max_mb"] = max_mb - page_size() / 1e6
    trace = record(translator, text, **options)
    return Explanation(trace, max_mb=max(max_mb, PAGE_MB))
