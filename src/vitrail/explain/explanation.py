"""From a sentence to its explanation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from vitrail.config import DecodeConfig
from vitrail.explain.notebook import Explanation
from vitrail.explain.page import page_size
from vitrail.trace import record
from vitrail.trace.record import MAX_MB

if TYPE_CHECKING:
    from vitrail.translator import Translator


def explain(
    translator: Translator,
    text: str,
    *,
    to: str | None = None,
    decode: DecodeConfig | None = None,
    prefix: str = "",
    heads_off: Mapping[str, Iterable[int]] | None = None,
    reference: str | None = None,
    layers: Sequence[str] | None = None,
    max_mb: float = MAX_MB,
) -> Explanation:
    """Translate a sentence and explain how: `record` says what the options mean, `max_mb` is of the whole page."""
    trace = record(
        translator,
        text,
        to=to,
        decode=decode,
        prefix=prefix,
        heads_off=heads_off,
        reference=reference,
        layers=layers,
        max_mb=max_mb - page_size() / 1e6,
    )
    return Explanation(trace)
