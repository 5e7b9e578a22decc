"""The studio's API for the viewer's source.js: models, traces, weights, and the state of a run."""

from __future__ import annotations

import json
import time
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp

from vitrail.errors import DecodeError, TextError, VitrailError
from vitrail.serve.guard import Guard, problem
from vitrail.serve.recent import Recent, UnknownTraceError
from vitrail.serve.shelf import Shelf, UnknownModelError
from vitrail.trace.format import encode_array
from vitrail.trace.probes import PROBES, read_probes
from vitrail.trace.run import LOG, read_run

if TYPE_CHECKING:
    from vitrail.config import DecodeConfig
    from vitrail.trace import Trace
    from vitrail.translator import Translator

MAX_TEXT = 2000  # characters
MAX_TOKENS = 256  # of a sentence: a trace grows with the square of its length
MOST = {"beam_size": 64, "top_beams": 64, "max_extra": 256}  # the page cannot show more
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
INDEX = "index.html"

Text = Annotated[str, Field(max_length=MAX_TEXT)]
Name = Annotated[str, Field(max_length=255)]


class Body(BaseModel):
    """The content of a request. Unknown fields are an error."""

    model_config = ConfigDict(extra="forbid")


class TraceBody(Body):
    """A sentence and its what-ifs, as the viewer's request.js writes them."""

    model: Name
    text: Text
    to: Name | None = None
    decode: Annotated[dict[str, bool | int | float | str], Field(max_length=20)] = {}
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


def studio(shelf: Shelf, *, port: int, token: str) -> ASGIApp:
    """The studio as an application on this port. It answers only requests with the token."""
    app = FastAPI(title="Vitrail studio", openapi_url=None, docs_url=None, redoc_url=None)
    viewer, recent = _viewer_files(), Recent()

    @app.get("/api/models")
    def models() -> Response:
        return _json({"models": shelf.entries()})

    @app.post("/api/trace")
    def trace(body: TraceBody) -> Response:
        with shelf.using(body.model) as translator:
            recorded = _trace(translator, body)
        return Response(recent.send(recorded).to_json(), media_type="application/json")

    @app.post("/api/inside")
    def inside(body: InsideBody) -> Response:
        found = recent.inside(body.trace, body.layer)
        return _json({"arrays": {name: encode_array(array) for name, array in found.items()}})

    @app.post("/api/weights")
    def weights(body: WeightsBody) -> Response:
        from vitrail.trace import layer_weights

        with shelf.using(body.model) as translator:
            found = layer_weights(translator.model, body.layer)
        return _json({"weights": {name: encode_array(array) for name, array in found.items()}})

    @app.get("/api/run")
    def run(model: Annotated[str, Query(max_length=255)], since: Annotated[str, Query(max_length=99)] = "") -> Response:
        return _json(_run(shelf.find(model), since))

    @app.get("/{path:path}")
    def file(path: str) -> Response:
        found = viewer.get(path or INDEX) if path != INDEX else None  # by its address alone, which asks for the token
        if found is None:
            return problem(404, "there is no such page", where=f"/{path}")
        kind = KINDS[Path(path or INDEX).suffix]
        return Response(found.read_bytes(), media_type=f"{kind}; charset=utf-8")

    _explain_errors(app)
    return Guard(app, port=port, token=token)


def _trace(translator: Translator, body: TraceBody) -> Trace:
    row = translator.tokenizers.encode_source(body.text, body.to if translator.languages else None)
    limit = min(MAX_TOKENS, translator.model.max_positions or MAX_TOKENS)
    if len(row) > limit:
        raise TextError(
            f"the sentence has {len(row):,} tokens; the studio can show at most {limit:,}",
            where="the sentence",
            fix="shorten it",
        )
    return translator.trace(
        body.text,
        to=body.to if translator.languages else None,
        decode=_settings(translator, body.decode),
        prefix=body.prefix,
        heads_off=body.heads_off,
        reference=body.reference or None,
    )


def _settings(translator: Translator, changes: dict[str, Any]) -> DecodeConfig:
    from vitrail.translator import change_settings

    for name, most in MOST.items():
        if isinstance(changes.get(name), int | float) and changes[name] > most:
            raise DecodeError(
                f"{name} = {changes[name]}: the studio can show at most {most}",
                where="the search settings",
                fix=f"choose {most} or less",
            )
    return change_settings(translator.config, changes)


def _run(folder: Path, since: str) -> dict[str, Any]:
    """The state of a run: in full if it has changed since the client's stamp, else just that it has not."""
    stamps = []
    newest = None
    for name in (LOG, PROBES):
        try:
            status = (folder / name).stat()
        except OSError:
            stamps.append("-")
            continue
        stamps.append(f"{status.st_size:x}.{status.st_mtime_ns:x}")
        newest = max(newest or 0.0, status.st_mtime)
    stamp = "-".join(stamps)
    quiet = None if newest is None else round(max(0.0, time.time() - newest), 1)
    answer: dict[str, Any] = {"stamp": stamp, "seconds_quiet": quiet, "changed": stamp != since}
    if stamp != since:
        answer |= {"run": read_run(folder), "probes": read_probes(folder), "max_steps": _max_steps(folder)}
    return answer


def _max_steps(folder: Path) -> int | None:
    from vitrail.config import parse_config, read_toml
    from vitrail.folder import CONFIG

    try:
        return parse_config(read_toml(folder / CONFIG), where=CONFIG).train.max_steps
    except VitrailError:
        return None


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


def _json(content: Any) -> Response:
    return Response(json.dumps(content), media_type="application/json")


def _explain_errors(app: FastAPI) -> None:
    """Answer every error in the same form: what, where, fix."""

    @app.exception_handler(VitrailError)
    async def _ours(request: Request, error: VitrailError) -> Response:
        status = 404 if isinstance(error, UnknownModelError | UnknownTraceError) else 400
        return problem(status, error.what, where=error.where, fix=error.fix)

    @app.exception_handler(RequestValidationError)
    async def _malformed(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
        message = str(first["msg"])
        return problem(422, message[:1].lower() + message[1:], where=place or "the request")

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        return problem(error.status_code, str(error.detail).lower(), where=request.url.path)

    @app.exception_handler(Exception)
    async def _fault(request: Request, error: Exception) -> Response:
        return problem(500, "this is a bug in vitrail, not an error on your side", where=request.url.path)
