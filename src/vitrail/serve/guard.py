"""Which requests the studio answers. All others are rejected before their body is read.

Any page open in a browser can send requests to this computer, and any host name can be made to resolve to it (DNS
rebinding). So a request must name this host and port in its Host header, and carry the token that only the studio's own
page has. A body must be declared as JSON, which other sites cannot send without a CORS preflight.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import Scope

from vitrail.serve.door import Visit
from vitrail.serve.problems import Problem

TOKEN_HEADER = "x-vitrail-token"
API = "/api/"
REOPEN = "open the address that `vitrail studio` printed, with its token"


class Guard:
    """The studio's policy; `port` and `token` are those of the printed URL."""

    def __init__(self, *, port: int, token: str) -> None:
        self.token = token
        self.hosts = local_hosts(port)

    def headers(self, scope: Scope) -> Mapping[str, str]:
        """The page's files may be kept and asked for again; answers may not be kept."""
        return {"cache-control": "no-store" if scope["path"].startswith(API) else "no-cache"}

    def check(self, scope: Scope, visit: Visit) -> None:
        """Raise the problem with a request, if there is one."""
        headers = Headers(scope=scope)
        check_host(headers, self.hosts, what="the studio can be reached only as localhost", fix=REOPEN)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise Problem(405, f"the studio does not support {scope['method']}", where="the request")
        path: str = scope["path"]
        if path.startswith(API):
            given = headers.get(TOKEN_HEADER, "")
        elif path == "/":
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        else:
            given = self.token  # the viewer's own files contain no secrets
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode("utf-8")):
            raise Problem(403, "the token is missing or wrong", where="the address", fix=REOPEN)
        if scope["method"] == "POST" and media_type(headers) != "application/json":
            raise Problem(415, "the studio accepts only JSON", where="the Content-Type header")


def local_hosts(port: int) -> frozenset[str]:
    """The Host headers of requests for a port of this computer."""
    return frozenset({f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"})


def check_host(headers: Headers, hosts: frozenset[str], *, what: str, fix: str) -> None:
    """Raise a problem unless the request has one Host header, and it is one of these."""
    if headers.getlist("host") not in [[host] for host in hosts]:
        raise Problem(403, what, where="the Host header", fix=fix)


def media_type(headers: Headers) -> str:
    """The kind of body that a request declares."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()
