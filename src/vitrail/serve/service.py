"""Texts in, translations out: what both interfaces of the server (libre.py, v1.py) have in common."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vitrail.errors import VitrailError
from vitrail.glossary import Glossary
from vitrail.layout import Document, read_document
from vitrail.serve.desk import Desk, Found
from vitrail.serve.directory import Directory, Model
from vitrail.serve.door import Visit
from vitrail.serve.limits import Limits
from vitrail.serve.pool import Pool, WorkerDied
from vitrail.serve.problems import Problem
from vitrail.text.language import detect
from vitrail.text.restriction import Restriction

SHORT = 2000  # characters: a longer text is taken apart in a thread, while others are answered
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")

Settings = Mapping[str, bool | int | float | str]


@dataclass(frozen=True)
class Translated:
    """A text and its sentences, each with what the worker found for it."""

    text: str
    alternatives: tuple[str, ...]
    sentences: tuple[Found, ...]


@dataclass
class Service:
    """The models, and the workers that translate with them."""

    directory: Directory
    pool: Pool
    desk: Desk
    limits: Limits
    is_warm: bool = False  # every worker has loaded every model that it could
    troubles: dict[str, str] = field(default_factory=dict)  # why a worker could not load a model, by its name

    def admit(self, texts: Sequence[str], visit: Visit) -> list[str]:
        """The texts of a request, if they are within the limits."""
        if len(texts) > self.limits.texts:
            raise Problem(
                400,
                f"the request has {len(texts):,} texts; at most {self.limits.texts:,} are possible",
                where="the texts",
                fix="send several requests",
            )
        longest = max(map(len, texts), default=0)
        if longest > self.limits.characters:
            raise Problem(
                400,
                f"a text has {longest:,} characters; at most {self.limits.characters:,} are possible",
                where="the texts",
                fix="send it in parts",
            )
        visit.texts += len(texts)
        visit.characters += sum(map(len, texts))
        visit.said += texts
        self.desk.refuse_more(len(texts))  # now, before time is spent on them
        return [_LONE_SURROGATES.sub("\ufffd", text) for text in texts]

    async def translate(
        self,
        model: Model,
        texts: Sequence[str],
        *,
        source: str | None,
        target: str | None,
        kind: str = "text",
        decode: Settings | None = None,
        prefix: str = "",
        align: bool = False,
        glossary: Glossary | None = None,
        restrict: Restriction | None = None,
    ) -> list[Translated]:
        """Translate texts. With kind "sentence" each is one sentence; otherwise it is taken apart."""
        documents = [await _read(text, kind, source) for text in texts]
        sentences = [sentence for document in documents for sentence in document.sentences]
        search = model.search(target, decode or {}, prefix, align=align, glossary=glossary, restrict=restrict)
        found = iter(await self.desk.translate(search, sentences))
        return [_filled(document, [next(found) for _ in document.sentences]) for document in documents]

    async def detect(self, text: str, languages: Sequence[str]) -> list[tuple[str, float]]:
        """These languages with the probability that the text is written in it, best first."""
        return await asyncio.to_thread(detect, text, languages)

    async def warm_up(self) -> None:
        """Let every worker load every model, so that no request has to wait for it."""
        await self.pool.started()
        troubles: dict[str, str] = {}
        for model in list(self.directory.models.values()):
            search = model.search(model.languages[0] if model.languages else None, {})
            for number in self.pool.numbers():
                try:
                    await self.pool.run(search.job("translate", texts=[]), number=number)
                except (LookupError, WorkerDied):
                    continue  # it has been replaced
                except VitrailError as error:
                    troubles[model.name] = f"{error.what} (at {error.where})"
        self.is_warm, self.troubles = True, troubles


@dataclass(frozen=True)
class _Sentence:
    """A document that is one sentence, and is translated whatever it looks like."""

    text: str

    @property
    def sentences(self) -> list[str]:
        return [self.text]

    def filled(self, translations: Sequence[str]) -> str:
        return translations[0]


async def _read(text: str, kind: str, language: str | None) -> Document:
    if kind == "sentence":
        return _Sentence(text)
    if len(text) <= SHORT:
        return read_document(text, kind, language=language)
    return await asyncio.to_thread(read_document, text, kind, language=language)


def _filled(document: Document, found: list[Found]) -> Translated:
    """The document with its translations. The n-th alternative has the n-th of every sentence, or its last."""
    count = max((len(one["alternatives"]) for one in found), default=0)
    texts = [document.filled([_choice(one, number) for one in found]) for number in range(max(1, count))]
    return Translated(texts[0], tuple(dict.fromkeys(texts[1:])), tuple(found))


def _choice(found: Found, number: int) -> str:
    alternatives: list[dict[str, Any]] = found["alternatives"]
    if found.get("unknown"):
        return str(found["source"])  # a word that the model does not know: better the original than nothing
    return str(alternatives[min(number, len(alternatives) - 1)]["text"] if alternatives else found["text"])
