"""The last few traces in full. A page that was sent a lighter one requests the rest when the user looks at it."""

from __future__ import annotations

import os
import secrets
from collections import OrderedDict

from vitrail.errors import VitrailError
from vitrail.trace import Trace, inside, lighter
from vitrail.trace.format import Array
from vitrail.trace.lighter import left_out

KEPT = 2  # the current translation and the previous one; each may take hundreds of MB
SENT_MB = 60.0  # sent at once; the page can request the rest


class UnknownTraceError(VitrailError):
    """A trace that is no longer kept."""


class Recent:
    """Keeps the last traces whose internals were not all sent. A trace's id begins with the process that keeps it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Trace] = OrderedDict()

    def send(self, trace: Trace, *, keeps: bool = True) -> Trace:
        """The trace to send: in full, or a lighter one with an id for requesting the rest if that is kept."""
        light = lighter(trace, SENT_MB)
        if not keeps:
            return light
        if not left_out(light):
            return trace
        number = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._kept[number] = trace
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return Trace({**light.document, "id": number})

    def inside(self, number: str, layer: str) -> dict[str, Array]:
        """The arrays of a layer that were not sent."""
        trace = self._kept.get(number)
        if trace is None:
            raise UnknownTraceError(
                "the server no longer keeps this trace", where="trace", fix="translate the sentence again"
            )
        return inside(trace, layer)
