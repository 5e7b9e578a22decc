"""From a sentence to its explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from vitrail.errors import TraceError
from vitrail.explain.live import LIVE_MB, compress, live_size
from vitrail.explain.model_file import fits_into_a_page, model_file
from vitrail.explain.notebook import Explanation
from vitrail.explain.page import page_size
from vitrail.trace import Trace, TraceOptions, record
from vitrail.trace.lighter import PAGE_MB
from vitrail.trace.record import MAX_MB

if TYPE_CHECKING:
    from vitrail.translator import Translator

TRACE_MB = 4.0  # room that a live page leaves for its trace, however large the model is
_LEAST = 0.6  # bytes of a live page for each parameter, at the very least: int8, compressed


def explain(
    translator: Translator, text: str, *, live: bool | None = None, **options: Unpack[TraceOptions]
) -> Explanation:
    """Translate a sentence and explain how. Options are those of `record`; here `max_mb` limits the whole page.

    A live page has the model inside and can translate other sentences. By default a page is live if that keeps it below
    15 MB, and neither `layers` nor `max_mb` asks for some of the weights.
    """
    asks_for_weights = options.get("layers") is not None or "max_mb" in options
    if live and asks_for_weights:
        raise TraceError(
            "a live page has all weights, and computes what it lacks",
            where="layers and max_mb",
            fix="leave them out, or ask for a static page (--static, in Python live=False)",
        )
    if live or (live is None and not asks_for_weights and _may_fit(translator)):
        made = _live(translator, text, options)
        if live or made.fits:
            return made.explanation
    max_mb = options.get("max_mb", MAX_MB)
    options["max_mb"] = max_mb - page_size() / 1e6
    trace = record(translator, text, **options)
    return Explanation(trace, max_mb=max(max_mb, PAGE_MB))


class _Live:
    """A live page, and whether it is small enough to be made without being asked for."""

    def __init__(self, explanation: Explanation, *, fits: bool) -> None:
        self.explanation = explanation
        self.fits = fits


def _live(translator: Translator, text: str, options: TraceOptions) -> _Live:
    model = model_file(translator, decode=options.get("decode"))
    packed = compress(model.content)
    room = LIVE_MB - live_size(len(packed)) / 1e6
    asked = options.copy()
    asked["layers"] = []  # all weights are in the model's file
    trace = record(model.translator, text, **asked)
    # A trace that is too large leaves out the internals of some layers: the page computes them.
    bare = len(Trace({**trace.document, "arrays": {}}).to_json().encode()) / 1e6
    explanation = Explanation(trace, max_mb=LIVE_MB - bare + max(0.0, TRACE_MB - room), model=packed)
    return _Live(explanation, fits=room > 0 and len(explanation.html().encode()) <= LIVE_MB * 1e6)


def _may_fit(translator: Translator) -> bool:
    """Whether it is worth packing the model to find out how large the page is."""
    return (
        fits_into_a_page(translator)
        and sum(value.numel() for value in translator.model.state_dict().values()) * _LEAST < LIVE_MB * 1e6
    )
