"""Where sentences wait for a worker. Those that arrive together are translated together, and equal ones once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from vitrail.errors import VitrailError
from vitrail.glossary import Glossary
from vitrail.serve.frames import Message
from vitrail.serve.pool import Pool, job_of
from vitrail.text.restriction import Restriction

TOGETHER = 64  # sentences in a batch at most
LEAST = 8  # sentences that a batch has before it is shared among idle workers
BATCH_SECONDS = 1.0  # of work in a batch: longer ones keep others waiting
LEAST_CHARACTERS = 2000  # in a batch, however long they take: smaller ones cost more than they are worth

Found = dict[str, Any]


class Busy(VitrailError):  # noqa: N818
    """More is waiting than can be done in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__("the server is busy", where="the queue", fix=f"try again in {max(1, round(seconds))} seconds")
        self.seconds = max(1, round(seconds))


@dataclass(frozen=True)
class Search:
    """How to translate: sentences with the same one can share a batch."""

    path: str
    stamp: tuple[int, ...]
    to: str | None
    decode: tuple[tuple[str, bool | int | float | str], ...] = ()
    prefix: str = ""
    align: bool = False
    glossary: Glossary | None = None
    restrict: Restriction | None = None

    def job(self, task: str, **what: Any) -> Message:
        """A job for a worker."""
        return job_of(task, **{**asdict(self), "decode": dict(self.decode)}, **what)


@dataclass(eq=False)
class _Sentence:
    """A sentence that somebody waits for."""

    search: Search
    text: str
    found: asyncio.Future[Found]
    wanted: int = 0  # by how many
    batch: _Batch | None = None  # that it is computed in


@dataclass(eq=False)
class _Batch:
    """Sentences that a worker translates."""

    sentences: list[_Sentence]
    task: asyncio.Task[None] | None = None


@dataclass
class Desk:
    """Takes sentences, and hands them to workers in batches."""

    pool: Pool
    queue: int  # how many sentences may wait
    seconds: float  # how long one may have to wait, about
    heard: Callable[[int, int], None] = lambda sentences, tokens: None  # is told of every batch that was translated
    _waiting: dict[Search, deque[_Sentence]] = field(default_factory=dict)
    _known: dict[tuple[Search, str], _Sentence] = field(default_factory=dict)
    _speeds: dict[Search, float] = field(default_factory=dict)  # characters a second of one worker
    _count: int = 0  # sentences that wait
    _characters: dict[Search, int] = field(default_factory=dict)  # that wait
    _batches: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def waiting(self) -> int:
        """How many sentences wait for a worker."""
        return self._count

    def wait_seconds(self) -> float:
        """About how long a sentence has to wait now."""
        seconds = 0.0
        for search in self._waiting:
            speed = self._speeds.get(search)
            if speed is not None:
                seconds += self._characters[search] / speed
        return seconds / max(1, self.pool.count)

    async def translate(self, search: Search, texts: Sequence[str]) -> list[Found]:
        """The translations of these sentences. If the caller is cancelled, so is what nobody else waits for."""
        self.refuse_more(sum((search, text) not in self._known for text in set(texts)))
        sentences = [self._enter(search, text) for text in texts]
        try:
            return [await asyncio.shield(sentence.found) for sentence in sentences]
        finally:
            for sentence in sentences:
                self._leave(sentence)

    def refuse_more(self, count: int) -> None:
        """Raise an error if so many more sentences would have to wait too long."""
        wait = self.wait_seconds()
        if count and (self._count + count > self.queue or wait > self.seconds):
            raise Busy(wait)

    def _enter(self, search: Search, text: str) -> _Sentence:
        """Put a sentence into the queue, or join those who wait for the same one."""
        sentence = self._known.get((search, text))
        if sentence is None:
            sentence = _Sentence(search, text, asyncio.get_running_loop().create_future())
            self._known[search, text] = sentence
            self._waiting.setdefault(search, deque()).append(sentence)
            self._count += 1
            self._characters[search] = self._characters.get(search, 0) + len(text)
            self._call_for_workers()
        sentence.wanted += 1
        return sentence

    def _leave(self, sentence: _Sentence) -> None:
        """One less waits for a sentence. What nobody waits for is not computed."""
        sentence.wanted -= 1
        if sentence.wanted or sentence.found.done():
            return
        self._forget(sentence)
        sentence.found.cancel()
        if sentence.batch is None:
            waiting = self._waiting[sentence.search]
            waiting.remove(sentence)
            if not waiting:
                del self._waiting[sentence.search]
            self._taken(sentence)
        elif sentence.batch.task is not None and not any(one.wanted for one in sentence.batch.sentences):
            sentence.batch.task.cancel()

    def _forget(self, sentence: _Sentence) -> None:
        key = (sentence.search, sentence.text)
        if self._known.get(key) is sentence:
            del self._known[key]

    def _taken(self, sentence: _Sentence) -> None:
        self._count -= 1
        self._characters[sentence.search] -= len(sentence.text)
        if not self._characters[sentence.search]:
            del self._characters[sentence.search]

    def _call_for_workers(self) -> None:
        """Ask for a worker, for each batch that can be computed at the same time."""
        if len(self._batches) < self.pool.count:
            batch = _Batch([])
            batch.task = asyncio.ensure_future(self._compute(batch))
            self._batches.add(batch.task)
            batch.task.add_done_callback(self._computed)

    def _computed(self, task: asyncio.Task[None]) -> None:
        self._batches.discard(task)
        if not task.cancelled():
            task.result()  # a bug must not stay unseen
        if self._waiting:
            self._call_for_workers()

    async def _compute(self, batch: _Batch) -> None:
        """Wait for a worker, and only then choose what it translates: until then, sentences gather."""
        try:
            async with self.pool.turn() as worker:
                batch.sentences = self._next()
                if not batch.sentences:
                    return
                for sentence in batch.sentences:
                    sentence.batch = batch
                search = batch.sentences[0].search
                job = search.job("translate", texts=[sentence.text for sentence in batch.sentences])
                answer, _ = await self.pool.ask(worker, job)
                self._learn(search, batch.sentences, answer["found"]["seconds"])
                translations = answer["found"]["translations"]
                self.heard(len(translations), sum(len(found["tokens"]) for found in translations))
                for sentence, found in zip(batch.sentences, translations, strict=True):
                    self._forget(sentence)
                    if not sentence.found.done():
                        sentence.found.set_result(found)
        except Exception as error:
            for sentence in batch.sentences:
                self._forget(sentence)
                if not sentence.found.done():
                    sentence.found.set_exception(error)
                    sentence.found.exception()  # seen: perhaps nobody waits any more

    def _next(self) -> list[_Sentence]:
        """The sentences that a worker gets now: as many as it can do in a moment, all with the same search."""
        if not self._waiting:
            return []
        search = next(iter(self._waiting))
        waiting = self._waiting.pop(search)
        budget = max(LEAST_CHARACTERS, self._speeds.get(search, 0.0) * BATCH_SECONDS)
        fair = max(LEAST, -(-len(waiting) // (1 + self.pool.idle)))
        found: list[_Sentence] = []
        while waiting and len(found) < min(TOGETHER, fair):
            budget -= len(waiting[0].text)
            if found and budget < 0:
                break
            found.append(waiting.popleft())
            self._taken(found[-1])
        if waiting:
            self._waiting[search] = waiting  # the last in turn: others come first
            self._call_for_workers()
        return found

    def _learn(self, search: Search, sentences: list[_Sentence], seconds: float) -> None:
        """Remember how fast sentences like these are translated."""
        speed = sum(len(sentence.text) for sentence in sentences) / max(seconds, 1e-3)
        known = self._speeds.pop(search, speed)
        self._speeds[search] = 0.7 * known + 0.3 * speed
        while len(self._speeds) > 100:
            del self._speeds[next(iter(self._speeds))]
