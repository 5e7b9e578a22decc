"""Errors as answers: a status, and what, where and how to fix it. LibreTranslate's own paths get its one sentence."""

from __future__ import annotations

import json
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from vitrail.errors import VitrailError
from vitrail.serve.desk import Busy
from vitrail.serve.pool import Refused, WorkerDied

IN_ONE_SENTENCE = frozenset({"/translate", "/detect", "/languages", "/frontend/settings", "/health"})
_NOT_FOUND = ("UnknownTraceError", "UnknownModelError")
_BROKEN = ("FolderError", "StorageError")  # a model's folder, which is not the client's fault


class Problem(Exception):  # noqa: N818
    """An answer that says no."""

    def __init__(
        self,
        status: int,
        what: str,
        *,
        where: str | None = None,
        fix: str | None = None,
        retry_after: int | None = None,
        closes: bool = False,
    ) -> None:
        super().__init__(what)
        self.status = status
        self.what = what
        self.where = where
        self.fix = fix
        self.retry_after = retry_after
        self.closes = closes  # the connection: the rest of the request is not read

    def answer(self, path: str) -> Response:
        """This as the answer to a request for a path."""
        error: str | dict[str, str | None] = {"what": self.what, "where": self.where, "fix": self.fix}
        if path in IN_ONE_SENTENCE:
            error = self.what if self.fix is None else f"{self.what}: {self.fix}"
        headers = {}
        if self.retry_after is not None:
            headers["retry-after"] = str(self.retry_after)
        if self.closes:
            headers["connection"] = "close"
        return json_answer({"error": error}, status=self.status, headers=headers)


def json_answer(content: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON in ASCII: it can escape a lone surrogate, but UTF-8 cannot encode one."""
    return Response(json.dumps(content), status_code=status, media_type="application/json", headers=headers)


def problem_of(error: Exception, path: str) -> Problem:
    """What is answered if this error ends a request."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Busy):
        return Problem(429, error.what, where=error.where, fix=error.fix, retry_after=error.seconds)
    if isinstance(error, VitrailError):
        kind = error.kind if isinstance(error, Refused) else type(error).__name__
        status = 404 if kind in _NOT_FOUND else 503 if kind in _BROKEN else 400
        return Problem(status, error.what, where=error.where, fix=error.fix)
    if isinstance(error, TimeoutError):
        return Problem(504, "this takes too long", where="the request", fix="send less at a time")
    if isinstance(error, WorkerDied):
        return Problem(503, "the process that computed this has died", where=path, fix="try again", retry_after=1)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
        message = str(first["msg"])
        return Problem(400, message[:1].lower() + message[1:], where=place or "the request")
    if isinstance(error, HTTPException):
        return Problem(error.status_code, str(error.detail).lower(), where=path)
    return Problem(500, "this is a bug in vitrail, not an error on your side", where=path)
