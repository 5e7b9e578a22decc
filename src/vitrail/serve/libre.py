"""LibreTranslate's HTTP interface, so that its clients work with this server unchanged.

Written from its public documentation (https://docs.libretranslate.com). Its errors are one sentence, {"error": "…"}.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import Response

from vitrail.serve.entrance import Entrance
from vitrail.serve.guard import media_type
from vitrail.serve.languages import NAMES
from vitrail.serve.problems import Problem, json_answer
from vitrail.serve.service import Service, Translated

MOST_ALTERNATIVES = 10
AUTO = "auto"

_Count = Annotated[int, BeforeValidator(lambda value: value or 0), Field(ge=0, le=MOST_ALTERNATIVES)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")  # clients send more than this server knows

    api_key: str = ""


BodyT = TypeVar("BodyT", bound=_Body)


class TranslateBody(_Body):
    """A request to translate: one text or a list of them."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"q": "Where is the station?", "source": "en", "target": "fr"}]}
    )

    q: str | list[str] = Field(description="The text to translate, or a list of texts.")
    source: str = Field(description="The language of the text, or auto.")
    target: str = Field(description="The language to translate into.")
    format: Literal["text", "html"] = "text"
    alternatives: _Count = 0


class DetectBody(_Body):
    """A request to find out the language of a text."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"q": "Où est la gare ?"}]})

    q: str = Field(description="The text.")


def libre_routes(service: Service, entrance: Entrance) -> APIRouter:
    """The routes of LibreTranslate's interface."""
    router = APIRouter(tags=["LibreTranslate"])
    directory, limits = service.directory, service.limits

    @router.post("/translate", openapi_extra=_described(TranslateBody), responses=_ANSWERS, summary="Translate")
    async def translate(request: Request) -> Response:
        body = await _read(request, TranslateBody)
        visit = request.state.visit
        entrance.admit(visit, body.api_key)
        texts = service.admit([body.q] if isinstance(body.q, str) else body.q, visit)
        _supported(directory.languages(), *([] if body.source == AUTO else [body.source]))
        _supported(directory.languages(), body.target)
        sources, detected = [body.source] * len(texts), []
        if body.source == AUTO:
            found = [(await service.detect(text, directory.languages()))[0] for text in texts]
            sources = [language for language, _ in found]
            detected = [{"language": language, "confidence": round(100 * share)} for language, share in found]
        made: dict[int, Translated] = {}
        for source in dict.fromkeys(sources):
            if source == body.target:
                continue  # it is there already
            numbers = [number for number, one in enumerate(sources) if one == source]
            decode = {"top_beams": 1 + body.alternatives} if body.alternatives else {}
            model = directory.between(source, body.target)
            if body.alternatives >= model.decode.beam_size:
                decode["beam_size"] = 1 + body.alternatives
            made |= zip(
                numbers,
                await service.translate(
                    model,
                    [texts[number] for number in numbers],
                    source=source,
                    target=body.target,
                    kind=body.format,
                    decode=decode,
                ),
                strict=True,
            )
        done = [made.get(number) or Translated(text, (), ()) for number, text in enumerate(texts)]
        is_one = isinstance(body.q, str)

        def each(values: list[Any]) -> Any:
            return values[0] if is_one else values

        answer: dict[str, Any] = {"translatedText": each([one.text for one in done])}
        if body.alternatives:
            answer["alternatives"] = each([list(one.alternatives) for one in done])
        if detected:
            answer["detectedLanguage"] = each(detected)
        return json_answer(answer)

    @router.post("/detect", openapi_extra=_described(DetectBody), responses=_ANSWERS, summary="Detect the language")
    async def find_language(request: Request) -> Response:
        body = await _read(request, DetectBody)
        entrance.admit(request.state.visit, body.api_key)
        (text,) = service.admit([body.q], request.state.visit)
        found = await service.detect(text, directory.languages())
        return json_answer([{"language": one, "confidence": round(100 * share)} for one, share in found])

    @router.get("/languages", summary="The languages")
    async def languages() -> list[dict[str, Any]]:
        return [
            {
                "code": one,
                "name": NAMES.get(one, one),
                "targets": [target for source, target in directory.directions() if source == one],
            }
            for one in directory.sources()
        ]

    @router.get("/frontend/settings", summary="What a page needs to know")
    async def settings() -> dict[str, Any]:
        source, target = directory.directions()[0]
        return {
            "apiKeys": entrance.needs_key,
            "keyRequired": entrance.needs_key,
            "charLimit": limits.characters,
            "batchLimit": limits.texts,
            "frontendTimeout": 500,
            "suggestions": False,
            "filesTranslation": False,
            "supportedFilesFormat": [],
            "language": {
                "source": {"code": source, "name": NAMES.get(source, source)},
                "target": {"code": target, "name": NAMES.get(target, target)},
            },
        }

    @router.get("/health", summary="Whether the server runs")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    return router


_SAYS_NO = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string"}},
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    status: {"description": what, "content": {"application/json": {"schema": _SAYS_NO}}}
    for status, what in {
        400: "The request is not one that can be done.",
        403: "The key is missing or wrong.",
        408: "The request took too long to arrive.",
        413: "The request is too long.",
        415: "The body is neither JSON nor a form.",
        429: "Too many requests, or too much is waiting.",
        503: "The server is shutting down, a worker died, or the model's folder is damaged.",
        504: "It took too long.",
    }.items()
}


def _described(body: type[BaseModel]) -> dict[str, Any]:
    """The body for OpenAPI: it is read here, since it may be JSON or a form."""
    schema = body.model_json_schema()
    form = {"application/json", "application/x-www-form-urlencoded", "multipart/form-data"}
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in sorted(form)}}}


async def _read(request: Request, kind: type[BodyT]) -> BodyT:
    """The body of a request, as JSON or as a form, and a problem in LibreTranslate's words if there is one."""
    given = await _values(request)
    for name, field in kind.model_fields.items():
        if field.is_required() and name not in given:
            raise Problem(400, f"Invalid request: missing {name} parameter")
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise Problem(400, f"Invalid request: {first['loc'][0]}: {first['msg'].lower()}") from None


async def _values(request: Request) -> dict[str, Any]:
    kind = media_type(request.headers)
    content = await request.body()
    if kind == "application/x-www-form-urlencoded":
        try:
            found = parse_qsl(content.decode("utf-8"), keep_blank_values=True, max_num_fields=1000)
        except ValueError:
            raise Problem(400, "Invalid request: the form cannot be read") from None
        return _fields(found)
    if kind == "multipart/form-data":
        return _fields((await _multipart(request)).multi_items())
    if kind not in ("application/json", "text/json", ""):
        raise Problem(415, "Invalid request: send JSON or a form")
    try:
        given = json.loads(content)
    except (ValueError, RecursionError):
        raise Problem(400, "Invalid JSON format") from None
    if not isinstance(given, dict):
        raise Problem(400, "Invalid JSON format")
    return given


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of a form; several texts are a list."""
    found: dict[str, Any] = {}
    texts = [value for name, value in pairs if name == "q"]
    for name, value in pairs:
        found.setdefault(name, value)
    if len(texts) > 1:
        found["q"] = texts
    return found


async def _multipart(request: Request) -> FormData:
    async def stream() -> Any:
        yield await request.body()

    headers = Headers(raw=[(b"content-type", request.headers["content-type"].encode("latin-1"))])
    try:
        return await MultiPartParser(headers, stream(), max_files=0, max_fields=1000, max_part_size=10**7).parse()
    except (MultiPartException, FormParserError, KeyError, ValueError, AssertionError):
        raise Problem(400, "Invalid request: the form cannot be read") from None


def _supported(languages: list[str], *asked: str) -> None:
    for one in asked:
        if one not in languages:
            raise Problem(400, f"{one[:40]} is not supported")
