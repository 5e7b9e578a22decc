"""The studio's API for the viewer's source.js: models, traces, weights, and the state of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from vitrail.errors import VitrailError
from vitrail.serve.door import Door
from vitrail.serve.frames import Message
from vitrail.serve.guard import Guard
from vitrail.serve.limits import Limits
from vitrail.serve.pool import Pool, WorkerDied, WorkerFailed, job_of
from vitrail.serve.problems import Problem, json_answer, problem_of
from vitrail.serve.shelf import Shelf, stamp_of

MAX_TEXT = 2000  # characters
LONG = 1000  # characters × beam_size: longer searches leave a worker free for shorter ones
STUDIO_LIMITS = Limits(body_bytes=64 * 1024, seconds=120.0, connections=100, grace_seconds=0.0)
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
INDEX = "index.html"

Text = Annotated[str, Field(max_length=MAX_TEXT)]


def _setting(value: Any) -> Any:
    """One message instead of one for each type that a setting may have."""
    if isinstance(value, bool | str) or (isinstance(value, int | float) and abs(value) <= 2**53):
        return value
    raise PydanticCustomError("setting", "a setting is true, false, a text or a number up to 2^53")


Setting = Annotated[
    bool | Annotated[int, Field(ge=-(2**53), le=2**53)] | Annotated[float, Field(allow_inf_nan=False)] | str,
    BeforeValidator(_setting),
]
Name = Annotated[str, Field(max_length=255)]


class Body(BaseModel):
    """The content of a request. Unknown fields are an error."""

    model_config = ConfigDict(extra="forbid")


class TraceBody(Body):
    """A sentence and its what-ifs, as the viewer's request.js writes them."""

    model: Name
    text: Text
    to: Name | None = None
    decode: Annotated[dict[str, Setting], Field(max_length=20)] = {}
    prefix: Text = ""
    heads_off: Annotated[dict[str, Annotated[list[int], Field(max_length=1000)]], Field(max_length=1000)] = {}
    reference: Text = ""


class InsideBody(Body):
    """A layer whose internals a lighter trace omitted."""

    trace: Name
    layer: Name


class WeightsBody(Body):
    """A layer of a model."""

    model: Name
    layer: Name


def studio(shelf: Shelf, pool: Pool, *, port: int, token: str, limits: Limits = STUDIO_LIMITS) -> Door:
    """The studio as an application on this port. It answers only requests with the token."""
    app = FastAPI(title="Vitrail studio", openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(studio_routes(shelf, pool))
    explain_errors(app)
    return Door(app, Guard(port=port, token=token), limits)


def studio_routes(shelf: Shelf, pool: Pool) -> APIRouter:
    """What the viewer asks for, and the viewer itself."""
    router, viewer = APIRouter(include_in_schema=False), _viewer_files()

    def job_for(model: str, task: str, **what: Any) -> Message:
        path = shelf.find(model)
        return job_of(task, path=str(path), stamp=stamp_of(path), **what)

    @router.get("/api/models")
    async def models() -> Response:
        return json_answer({"models": await asyncio.to_thread(shelf.entries)})

    @router.post("/api/trace")
    async def trace(body: TraceBody) -> Response:
        job = job_for(body.model, "trace", **body.model_dump(exclude={"model"}), keeps=True)
        _, found = await pool.run(job, is_long=is_long(body.text, body.decode))
        return Response(found, media_type="application/json")

    @router.post("/api/inside")
    async def inside(body: InsideBody) -> Response:
        keeper = body.trace.partition("-")[0]
        if not (keeper.isascii() and keeper.isdigit() and len(keeper) < 12):
            raise _gone()
        try:
            found, _ = await pool.run(job_of("inside", trace=body.trace, layer=body.layer), number=int(keeper))
        except LookupError:
            raise _gone() from None
        return json_answer({"arrays": found["found"]})

    @router.post("/api/weights")
    async def weights(body: WeightsBody) -> Response:
        found, _ = await pool.run(job_for(body.model, "weights", layer=body.layer))
        return json_answer({"weights": found["found"]})

    @router.get("/api/run")
    async def run(
        model: Annotated[str, Query(max_length=255)], since: Annotated[str, Query(max_length=99)] = ""
    ) -> Response:
        found, _ = await pool.run(job_of("run", path=str(shelf.find(model)), since=since))
        return json_answer(found["found"])

    @router.get("/{path:path}")
    async def file(path: str) -> Response:
        found = viewer.get(path or INDEX) if path != INDEX else None  # by its address alone, which asks for the token
        if found is None:
            raise Problem(404, "there is no such page", where=f"/{path}")
        kind = KINDS[Path(path or INDEX).suffix]
        return Response(found.read_bytes(), media_type=f"{kind}; charset=utf-8")

    return router


def is_long(text: str, decode: Mapping[str, Any]) -> bool:
    """Whether a search may take so long that others should not have to wait for it."""
    beams = decode.get("beam_size", 4)
    return len(text) * (beams if isinstance(beams, int | float) else 4) > LONG


def _gone() -> Problem:
    return Problem(404, "the server no longer keeps this trace", where="trace", fix="translate the sentence again")


def _viewer_files() -> dict[str, Traversable]:
    """The viewer's files by address. Nothing else is ever served, whatever a path looks like."""
    found: dict[str, Traversable] = {}

    def collect(folder: Traversable, path: str) -> None:
        for entry in folder.iterdir():
            if entry.is_dir():
                collect(entry, f"{path}{entry.name}/")
            elif Path(entry.name).suffix in KINDS:
                found[f"{path}{entry.name}"] = entry

    collect(files("vitrail") / "web", "")
    return found


def explain_errors(app: FastAPI) -> None:
    """Answer every error in the same form: what, where, fix."""

    async def explain(request: Request, error: Exception) -> Response:
        return problem_of(error, request.url.path).answer(request.url.path)

    for kind in (VitrailError, Problem, WorkerDied, WorkerFailed, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, explain)
