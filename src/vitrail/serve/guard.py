"""Which requests the studio answers. All others are rejected before their body is read.

Any page open in a browser can send requests to this computer, and any host name can be made to resolve to it (DNS
rebinding). So a request must name this host and port in its Host header, and carry the token that only the studio's own
page has. A body must be short and declared as JSON, which other sites cannot send without a CORS preflight.
"""

from __future__ import annotations

import hmac
import json
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "x-vitrail-token"
MAX_BODY = 64 * 1024  # bytes
API = "/api/"

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",  # the URL contains the token
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Middleware in front of an application; `port` and `token` are those of the printed URL."""

    def __init__(self, app: ASGIApp, *, port: int, token: str) -> None:
        self.app = app
        self.token = token
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or reject it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a websocket: closed without a reply

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers["cache-control"] = "no-store" if scope["path"].startswith(API) else "no-cache"
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None and scope["method"] == "POST":
            body = await _short_body(receive)
            if body is None:
                refusal = problem(413, f"the request is longer than {MAX_BODY:,} bytes", where="the request")
            else:
                receive = _once(body)
        await (self.app if refusal is None else refusal)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.getlist("host") not in [[host] for host in self.hosts]:
            return problem(403, "the studio can be reached only as localhost", where="the Host header", fix=REOPEN)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return problem(405, f"the studio does not support {scope['method']}", where="the request")
        path: str = scope["path"]
        if path.startswith(API):
            given = headers.get(TOKEN_HEADER, "")
        elif path == "/":
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        else:
            given = self.token  # the viewer's own files contain no secrets
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode("utf-8")):
            return problem(403, "the token is missing or wrong", where="the address", fix=REOPEN)
        if scope["method"] == "POST":
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return problem(415, "the studio accepts only JSON", where="the Content-Type header")
            length = headers.get("content-length", "0")
            if not (length.isascii() and length.isdigit()) or int(length) > MAX_BODY:
                return problem(413, f"the request is longer than {MAX_BODY:,} bytes", where="the request")
        return None


REOPEN = "open the address that `vitrail studio` printed, with its token"


def problem(status: int, what: str, *, where: str | None = None, fix: str | None = None) -> Response:
    """An error in the format that the page expects."""
    content: dict[str, Any] = {"error": {"what": what, "where": where, "fix": fix}}
    # ASCII only: JSON can escape a lone surrogate, but UTF-8 cannot encode one.
    return Response(json.dumps(content), status_code=status, media_type="application/json")


async def _short_body(receive: Receive) -> bytes | None:
    """Read the whole body, in however many chunks it comes. None if it is too long or the client disconnects."""
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return None
        if not message.get("more_body", False):
            return body


def _once(body: bytes) -> Receive:
    """Replay a body that was already read, for the application behind."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    return receive
