"""Which requests a server answers: those with a key, if it has keys, and not too many of them.

Without keys it is for this computer. Then a request must name it in its Host header, because any page in a browser may
send requests to this computer, and any host name can be made to resolve to it (DNS rebinding).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from vitrail.serve.door import Visit
from vitrail.serve.guard import API, TOKEN_HEADER, check_host
from vitrail.serve.keys import Key, find_key
from vitrail.serve.problems import Problem

WITH_KEY_INSIDE = ("/translate", "/detect")  # LibreTranslate's clients put their key into the body
NEEDS_KEY = (*WITH_KEY_INSIDE, "/v1/", "/metrics", API)
COUNTED = (*WITH_KEY_INSIDE, "/v1/", API)
MOST_CALLERS = 10_000  # whose requests are counted at the same time


@dataclass
class Entrance:
    """The server's policy."""

    keys: list[Key]
    hosts: frozenset[str] | None = None  # Host headers that are accepted; None: any
    origins: tuple[str, ...] = ()  # of pages elsewhere that may use this server
    per_minute: int = 0  # requests of one caller; 0: any number
    _callers: OrderedDict[str, _Bucket] = field(default_factory=OrderedDict)

    @property
    def needs_key(self) -> bool:
        """Whether requests need a key."""
        return bool(self.keys)

    def headers(self, scope: Scope) -> Mapping[str, str]:
        """The page's files may be kept and asked for again; answers may not be kept."""
        path: str = scope["path"]
        is_file = path == "/" or path.endswith((".js", ".css", ".svg"))
        return {"cache-control": "no-cache" if is_file else "no-store"}

    def check(self, scope: Scope, visit: Visit) -> None:
        """Raise the problem with a request, if there is one."""
        headers = Headers(scope=scope)
        path: str = scope["path"]
        if self.hosts is not None:
            fix = "use the address that the server printed, or start it with --host-name NAME"
            check_host(headers, self.hosts, what="this server does not go by that name", fix=fix)
        self._check_origin(headers)
        if not path.startswith(NEEDS_KEY) or scope["method"] == "OPTIONS":
            return
        given = _given(scope, headers)
        if given or path not in WITH_KEY_INSIDE:
            self.admit(visit, given)

    def admit(self, visit: Visit, given: str) -> None:
        """Let in whoever has a key, or everybody if there are none. What has a key already is in."""
        if visit.key:
            return
        if self.needs_key:
            key = find_key(self.keys, given)
            if key is None:
                what = "Invalid API key" if given else "Please contact the server operator to get an API key"
                raise Problem(403, what, where="the API key")
            visit.key = key.name
            self._count(visit, f"key {key.name}", key.per_minute or self.per_minute)
        elif not given or visit.path not in WITH_KEY_INSIDE:
            self._count(visit, visit.address, self.per_minute)

    def _count(self, visit: Visit, caller: str, per_minute: int) -> None:
        if not per_minute or not visit.path.startswith(COUNTED):
            return
        bucket = self._callers.setdefault(caller, _Bucket(float(per_minute), monotonic()))
        self._callers.move_to_end(caller)
        while len(self._callers) > MOST_CALLERS:
            self._callers.popitem(last=False)
        wait = bucket.take(per_minute, monotonic())
        if wait > 0:
            seconds = max(1, round(wait + 0.5))
            raise Problem(
                429,
                f"more than {per_minute:,} requests a minute",
                where="the requests of this caller",
                fix=f"try again in {seconds} seconds",
                retry_after=seconds,
            )

    def _check_origin(self, headers: Headers) -> None:
        """Without keys, a page from elsewhere must not make this computer work, even if it cannot read the answer."""
        origin = headers.get("origin")
        if origin is None or self.needs_key or origin in self.origins or "*" in self.origins:
            return
        if urlsplit(origin).netloc != headers.get("host"):
            raise Problem(
                403,
                "pages from elsewhere may not use this server",
                where="the Origin header",
                fix="start it with --cors",
            )


@dataclass
class _Bucket:
    """A caller's requests: as many as there is water, which runs in all the time."""

    level: float
    filled: float  # when

    def take(self, per_minute: int, now: float) -> float:
        """Take one request; how many seconds to wait if there is none."""
        self.level = min(float(per_minute), self.level + (now - self.filled) * per_minute / 60)
        self.filled = now
        if self.level < 1:
            return (1 - self.level) * 60 / per_minute
        self.level -= 1
        return 0.0


def _given(scope: Scope, headers: Headers) -> str:
    """The key that a request carries: as a bearer token, in a header or in the address."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    for name in ("x-api-key", TOKEN_HEADER):
        if headers.get(name):
            return headers[name]
    try:
        query: dict[str, list[str]] = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=100)
    except ValueError:
        return ""
    return query.get("api_key", [""])[0]
