"""Vitrail's own interface: everything the search offers, a translation token by token, and traces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from vitrail.glossary import Glossary
from vitrail.serve.directory import Model
from vitrail.serve.problems import Problem, json_answer, problem_of
from vitrail.serve.service import Service
from vitrail.serve.studio import MAX_TEXT, Setting, is_long
from vitrail.text.restriction import Restriction

Language = Annotated[str, Field(max_length=40)]
Name = Annotated[str, Field(max_length=255)]
Decode = Annotated[
    dict[Annotated[str, Field(max_length=40)], Setting],
    Field(max_length=20, description="Search settings that differ from the model's own: docs/decoding.md"),
]
Term = Annotated[str, Field(max_length=200)]
Terms = Annotated[list[Term], Field(max_length=1000)]
_EXAMPLE = {"source": "en", "target": "fr"}


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Direction(_Body):
    """Which model to use: by its name, or the first from one language into another."""

    model: Name | None = None
    source: Language | None = None
    target: Language | None = None


class TranslateBody(Direction):
    """Texts, and how to translate them."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {**_EXAMPLE, "texts": ["Where is the station? I am late."], "decode": {"beam_size": 6, "top_beams": 3}},
                {**_EXAMPLE, "texts": ["My house is small."], "glossary": {"house": ["villa", "manoir"]}},
            ]
        }
    )

    texts: Annotated[list[str], Field(max_length=10_000)]
    kind: Literal["sentence", "text", "html"] = Field(
        "text", description="sentence: each text is one sentence; text and html are taken apart into sentences"
    )
    decode: Decode = {}
    prefix: Annotated[str, Field(max_length=MAX_TEXT, description="What every translation begins with.")] = ""
    align: bool = Field(False, description="Say which words of each sentence belong together.")
    glossary: Annotated[
        dict[Term, Term | Annotated[list[Term], Field(max_length=20)]],
        Field(max_length=1000, description="Terms, each with its translation, or with several to choose from."),
    ] = {}
    never: Terms = Field([], description="Words and phrases that no translation has.")
    only: Annotated[Terms, Field(min_length=1)] | None = Field(
        None, description="The only words that translations may have."
    )
    never_tokens: Terms = Field([], description="Tokens that no translation has.")
    only_tokens: Annotated[Terms, Field(min_length=1)] | None = Field(
        None, description="The only tokens that translations may have."
    )

    def restriction(self) -> Restriction | None:
        """Which words and tokens translations may have; None: all."""
        if self.only is None and self.only_tokens is None and not (self.never or self.never_tokens):
            return None
        return Restriction(tuple(self.never), _frozen(self.only), tuple(self.never_tokens), _frozen(self.only_tokens))


class StreamBody(Direction):
    """A sentence to translate token by token, by greedy search or with one draw."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**_EXAMPLE, "text": "Where is the station?"}]})

    text: Annotated[str, Field(max_length=MAX_TEXT)]
    decode: Decode = {}
    prefix: Annotated[str, Field(max_length=MAX_TEXT)] = ""


class ExplainBody(StreamBody):
    """A sentence to trace, and what to change in the model or the search."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{**_EXAMPLE, "text": "I am tired.", "heads_off": {"decoder.0.cross_attention": [0]}}]
        }
    )

    heads_off: Annotated[
        dict[
            Annotated[str, Field(max_length=99)],
            Annotated[list[Annotated[int, Field(ge=0, le=9999)]], Field(max_length=1000)],
        ],
        Field(max_length=1000),
    ] = {}
    reference: Annotated[str, Field(max_length=MAX_TEXT)] = ""


class Sentence(BaseModel):
    """A sentence and its translations, best first."""

    model_config = ConfigDict(extra="allow")

    source: str
    text: str
    score: float
    tokens: list[str]
    alternatives: list[dict[str, Any]]


class TranslatedText(BaseModel):
    """A text put together again."""

    text: str
    sentences: list[Sentence]


class Translations(BaseModel):
    """The translations of all texts, in order."""

    model: str
    translations: list[TranslatedText]


class ModelEntry(BaseModel):
    """A model and what it translates."""

    name: str
    directions: list[dict[str, str]]
    decode: dict[str, Any]


class Models(BaseModel):
    """All models."""

    models: list[ModelEntry]


class Error(BaseModel):
    """What is wrong, where, and how to fix it."""

    what: str
    where: str | None
    fix: str | None


class Refusal(BaseModel):
    """An answer that says no."""

    error: Error


NO: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal} for status in (400, 403, 404, 408, 413, 422, 429, 503, 504)
}


_EVENT = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"enum": ["token", "done", "error"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}


def v1_routes(service: Service) -> APIRouter:
    """The routes of Vitrail's own interface."""
    router = APIRouter(prefix="/v1", tags=["Vitrail"], responses=NO)

    @router.get("/models", summary="The models", response_model=Models)
    async def models() -> Response:
        return json_answer(
            {
                "models": [
                    {
                        "name": model.name,
                        "directions": [{"source": source, "target": target} for source, target in model.directions],
                        "decode": model.decode.model_dump(mode="json"),
                    }
                    for model in service.directory.models.values()
                ]
            }
        )

    @router.post("/translate", summary="Translate texts", response_model=Translations)
    async def translate(body: TranslateBody, request: Request) -> Response:
        model, source, target = _chosen(service, body)
        texts = service.admit(body.texts, request.state.visit)
        found = await service.translate(
            model,
            texts,
            source=source,
            target=target,
            kind=body.kind,
            decode=body.decode,
            prefix=body.prefix,
            align=body.align,
            glossary=Glossary.of(body.glossary) if body.glossary else None,
            restrict=body.restriction(),
        )
        translations = [{"text": one.text, "sentences": list(one.sentences)} for one in found]
        return json_answer({"model": model.name, "translations": translations})

    @router.post(
        "/translate/stream",
        summary="Translate a sentence token by token",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {"itemSchema": _EVENT}}}},
    )
    async def stream(body: StreamBody, request: Request) -> Response:
        model, _, target = _chosen(service, body)
        (text,) = service.admit([body.text], request.state.visit)
        job = model.search(target, body.decode, body.prefix).job("stream", text=text)
        return StreamingResponse(_events(service, job, is_long(text, {"beam_size": 1})), media_type="text/event-stream")

    @router.post("/explain", summary="Trace a sentence", responses={200: {"description": "A trace: docs/trace.md"}})
    async def explain(body: ExplainBody, request: Request) -> Response:
        model, _, target = _chosen(service, body)
        (text,) = service.admit([body.text], request.state.visit)
        search = model.search(target, body.decode, body.prefix)
        job = search.job("trace", text=text, heads_off=body.heads_off, reference=body.reference, keeps=False)
        _, content = await service.pool.run(job, is_long=is_long(text, body.decode))
        return Response(content, media_type="application/json")

    return router


def _frozen(words: list[str] | None) -> tuple[str, ...] | None:
    return None if words is None else tuple(words)


def _chosen(service: Service, body: Direction) -> tuple[Model, str | None, str | None]:
    """The model that a request means, and the languages."""
    directory = service.directory
    if body.model is None:
        if body.source is None or body.target is None:
            raise Problem(
                400, "it is not clear which model is meant", where="model, source, target", fix="name source and target"
            )
        return directory.between(body.source, body.target), body.source, body.target
    model = directory.named(body.model)
    fitting = [
        (source, target)
        for source, target in model.directions
        if body.source in (None, source) and body.target in (None, target)
    ]
    targets = {target for _, target in fitting}
    if len(targets) != 1:
        raise Problem(
            400,
            f"{model.name} does not translate that way" if not fitting else "it is not clear into which language",
            where="source, target",
            fix=f"there is {', '.join(f'{source}-{target}' for source, target in model.directions)}",
        )
    return model, fitting[0][0] if len(fitting) == 1 else None, targets.pop()


async def _events(service: Service, job: dict[str, Any], long: bool) -> AsyncIterator[str]:
    """Server-sent events: a `token` for each, then `done` with the translation, or `error`."""
    parts: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    running = asyncio.ensure_future(service.pool.run(job, is_long=long, heard=parts.put_nowait))
    running.add_done_callback(lambda _: parts.put_nowait(None))
    try:
        while (part := await parts.get()) is not None:
            yield _event("token", part)
        try:
            found, _ = running.result()
            yield _event("done", found["found"])
        except Exception as error:
            problem = problem_of(error, "/v1/translate/stream")
            yield _event("error", {"what": problem.what, "where": problem.where, "fix": problem.fix})
    finally:
        running.cancel()


def _event(name: str, content: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(content)}\n\n"
