"""The last traces that were sent, whole: a page that was sent a lighter one asks for the rest when it is looked at."""

from __future__ import annotations

import secrets
from collections import OrderedDict

from vitrail.errors import VitrailError
from vitrail.trace import Trace, inside, lighter
from vitrail.trace.format import Array
from vitrail.trace.lighter import left_out

KEPT = 2  # a translation and the one before it; each may take hundreds of MB
SENT_MB = 60.0  # what is sent at once: a page that is served can ask for more


class UnknownTraceError(VitrailError):
    """A trace that is no longer kept."""


class Recent:
    """What was left out of the last traces."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Trace] = OrderedDict()

    def send(self, trace: Trace) -> Trace:
        """The trace to send: the whole, or a lighter one that has an id to ask for the rest with."""
        light = lighter(trace, SENT_MB)
        if not left_out(light):
            return trace
        number = secrets.token_hex(8)
        self._kept[number] = trace
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return Trace({**light.document, "id": number})

    def inside(self, number: str, layer: str) -> dict[str, Array]:
        """What was left out of a layer."""
        trace = self._kept.get(number)
        if trace is None:
            raise UnknownTraceError(
                "the studio has moved on to other sentences", where="trace", fix="translate this one again"
            )
        return inside(trace, layer)
