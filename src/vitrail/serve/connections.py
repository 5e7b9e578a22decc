"""A connection's deadlines: for the head of a request to arrive, for its client to read, and for doing nothing.

uvicorn has only the last of these, and only after a first request. Without the others, half-sent requests and clients
that do not read would stay for ever, and enough of them would use up the files that a process may open.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from vitrail.serve.limits import Limits


def connection_class(limits: Limits) -> type[asyncio.Protocol]:
    """The class of connections with these limits; uvicorn makes an object of it for each."""

    class Connection(_Connection):
        pass

    Connection.limits = limits
    Connection.opened = {}
    return Connection


class _Connection(H11Protocol):
    limits: Limits
    opened: dict[_Connection, None]  # all that are open, the longest open first

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._until_asked: asyncio.TimerHandle | None = None
        self._until_read: asyncio.TimerHandle | None = None

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has connected."""
        super().connection_made(transport)
        self.opened[self] = None
        self._expect_request()
        if len(self.opened) > self.limits.connections:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self.opened.pop(self, None)
        self._stop_waiting()
        self._read_again()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A part of a request has arrived."""
        super().data_received(data)
        if self.is_answering:
            self._stop_waiting()
        elif self._until_asked is None:
            self._expect_request()

    def pause_writing(self) -> None:
        """The client reads more slowly than it is answered."""
        super().pause_writing()
        self._until_read = self.loop.call_later(self.limits.arrival_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has read."""
        self._read_again()
        super().resume_writing()

    def _expect_request(self) -> None:
        """The head of a request has to be complete in time, however slowly its bytes arrive."""
        self._until_asked = self.loop.call_later(self.limits.arrival_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._until_asked is not None:
            self._until_asked.cancel()
            self._until_asked = None

    def _read_again(self) -> None:
        if self._until_read is not None:
            self._until_read.cancel()
            self._until_read = None

    def _give_up(self) -> None:
        self._until_asked = None
        if not self.is_answering:
            self.transport.abort()

    def _make_room(self) -> None:
        """Close the connection that has done nothing for longest; this one, if all others are busy."""
        idle = next((one for one in self.opened if not one.is_answering), self)
        idle.opened.pop(idle, None)
        idle.transport.abort()
