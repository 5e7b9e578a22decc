"""The door of an application: every request comes in, and every answer goes out, through here.

A request is refused before its body is read, if its policy says so; a body has to be short and to arrive in time.
What is computed for a client that has gone away is cancelled, and so is what takes too long.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vitrail.serve.limits import Limits
from vitrail.serve.problems import Problem, problem_of

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",  # the URL may contain a token
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass
class Visit:
    """A request on its way through the application; whoever learns something of it writes it down."""

    id: str
    method: str
    path: str
    address: str
    began: float
    status: int = 0
    seconds: float = 0.0
    route: str = ""  # the path as the application knows it: a few names, however many paths are asked for
    key: str = ""  # the name of the key that came with it
    texts: int = 0
    characters: int = 0
    said: list[str] = field(default_factory=list)  # the texts themselves, for a log that is asked to hold them


class Policy(Protocol):
    """Which requests an application answers."""

    def check(self, scope: Scope, visit: Visit) -> None:
        """Raise the `Problem` with a request, if there is one; called before its body is read."""

    def headers(self, scope: Scope) -> Mapping[str, str]:
        """What the answer carries."""


@dataclass
class Door:
    """The door in front of an application."""

    app: ASGIApp
    policy: Policy
    limits: Limits
    watch: Callable[[Visit], None] = lambda visit: None  # is told of every request once it is over
    running: int = 0  # requests inside
    is_closing: bool = False  # no more requests are let in

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return  # a websocket: closed without a reply
        client = scope.get("client")
        visit = Visit(secrets.token_hex(8), scope["method"], scope["path"], client[0] if client else "", monotonic())
        scope.setdefault("state", {})["visit"] = visit

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in {**HEADERS, **self.policy.headers(scope), "x-request-id": visit.id}.items():
                    headers[name] = value
            await send(message)

        self.running += 1
        try:
            await self._answer(scope, visit, receive, send_marked)
        finally:
            self.running -= 1
            visit.seconds = monotonic() - visit.began
            route = scope.get("route")
            visit.route = getattr(route, "path", "") or "other"
            self.watch(visit)

    async def _answer(self, scope: Scope, visit: Visit, receive: Receive, send: Send) -> None:
        try:
            if self.is_closing and visit.path != "/health":
                raise Problem(503, "the server is shutting down", where="the server", retry_after=1, closes=True)
            self.policy.check(scope, visit)
            if visit.method == "POST" and self.running > self.limits.requests:
                raise Problem(
                    429, "the server is busy", where="its requests", fix="try again in a second", retry_after=1
                )
            _check_length(scope, self.limits.body_bytes)
            async with asyncio.timeout(self.limits.arrival_seconds):
                body = await _read(receive, self.limits.body_bytes)
        except TimeoutError:
            slow = Problem(408, "the request takes too long to arrive", where="the request", closes=True)
            await slow.answer(visit.path)(scope, receive, send)
            return
        except Problem as problem:
            await problem.answer(visit.path)(scope, receive, send)
            return
        if body is not None:
            await self._compute(scope, visit, _once(body), receive, send)

    async def _compute(self, scope: Scope, visit: Visit, body: Receive, receive: Receive, send: Send) -> None:
        """Let the application answer, unless its client goes away or it takes too long."""

        async def in_time() -> None:
            try:
                async with asyncio.timeout(self.limits.seconds):
                    await self.app(scope, body, send)
            except Exception as error:
                if visit.status:
                    raise  # in the middle of its answer: all that is left is to end the connection
                await problem_of(error, visit.path).answer(visit.path)(scope, body, send)

        answering = asyncio.ensure_future(in_time())
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not answering.done():
                answering.cancel()
            await asyncio.wait({answering})
        if not answering.cancelled():
            answering.result()


def _check_length(scope: Scope, most: int) -> None:
    length = Headers(scope=scope).get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or len(length) > 18 or int(length) > most:
        raise _too_long(most)


def _too_long(most: int) -> Problem:
    return Problem(413, f"the request is longer than {most:,} bytes", where="the request", closes=True)


async def _read(receive: Receive, most: int) -> bytes | None:
    """The whole body, in however many chunks it comes; None if the client goes away."""
    parts: list[bytes] = []
    length = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        part = message.get("body", b"")
        length += len(part)
        if length > most:
            raise _too_long(most)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _once(body: bytes) -> Receive:
    """Replay a body that was already read, for the application behind."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    never: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    async def receive() -> Message:
        return waiting.pop() if waiting else await never  # the door watches for clients that go away

    return receive


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
