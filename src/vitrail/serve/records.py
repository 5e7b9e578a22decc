"""What is written down of requests: numbers for Prometheus, and lines for a log, without texts unless asked to."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from vitrail.serve.desk import Desk
from vitrail.serve.door import Door, Visit
from vitrail.serve.pool import Pool

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SENTENCES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The numbers that Prometheus collects."""

    def __init__(self, desk: Desk, pool: Pool) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("vitrail_requests", "Requests.", ("route", "method", "status"), registry=self.registry)
        self.seconds = Histogram(
            "vitrail_request_seconds", "How long a request took.", ("route",), buckets=SECONDS, registry=self.registry
        )
        self.texts = Counter("vitrail_texts", "Texts that were sent.", registry=self.registry)
        self.characters = Counter("vitrail_characters", "Characters that were sent.", registry=self.registry)
        self.tokens = Counter("vitrail_tokens", "Tokens that were generated.", registry=self.registry)
        self.batches = Histogram(
            "vitrail_batch_sentences", "Sentences in a batch.", buckets=SENTENCES, registry=self.registry
        )
        self.registry.register(_Now(desk, pool))
        desk.heard = self.translated

    def translated(self, sentences: int, tokens: int) -> None:
        """A batch was translated."""
        self.batches.observe(sentences)
        self.tokens.inc(tokens)

    def answered(self, visit: Visit) -> None:
        """A request is over. Paths are counted by the application's routes: anybody can ask for any path."""
        self.requests.labels(visit.route, visit.method if visit.route != "other" else "any", visit.status).inc()
        self.seconds.labels(visit.route).observe(visit.seconds)
        self.texts.inc(visit.texts)
        self.characters.inc(visit.characters)

    def page(self) -> bytes:
        """All numbers, as Prometheus reads them."""
        return generate_latest(self.registry)


@dataclass(eq=False)
class _Now:
    """The numbers that are looked up when somebody asks."""

    desk: Desk
    pool: Pool

    def collect(self) -> Iterable[Metric]:
        for name, what, value in (
            ("vitrail_queue_sentences", "Sentences that wait for a worker.", self.desk.waiting),
            ("vitrail_queue_seconds", "About how long a sentence has to wait now.", self.desk.wait_seconds()),
            ("vitrail_workers", "Workers that are there.", self.pool.alive),
            ("vitrail_workers_idle", "Workers that have nothing to do.", self.pool.idle),
            ("vitrail_workers_died", "Workers that have died since the server started.", self.pool.died),
        ):
            yield GaugeMetricFamily(name, what, value=value)


@dataclass
class Log:
    """Writes a line for each request."""

    as_json: bool = False
    with_texts: bool = False
    stream: TextIO | None = None  # standard error, if there is none

    def event(self, what: str, **facts: Any) -> None:
        """Write a line about the server itself."""
        self._write({"event": what, **facts})

    def answered(self, visit: Visit) -> None:
        """Write a line about a request that is over."""
        facts: dict[str, Any] = {
            "event": "request",
            "id": visit.id,
            "client": visit.address,
            "method": visit.method,
            "path": visit.path[:200],
            "status": visit.status or 499,  # nginx's number for a client that went away
            "ms": round(1000 * visit.seconds, 1),
        }
        if visit.key:
            facts["key"] = visit.key
        if visit.texts:
            facts |= {"texts": visit.texts, "characters": visit.characters}
        if self.with_texts and visit.said:
            facts["said"] = visit.said
        self._write(facts)

    def _write(self, facts: dict[str, Any]) -> None:
        facts = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **facts}
        line = json.dumps(facts) if self.as_json else " ".join(_shown(name, value) for name, value in facts.items())
        print(line, file=sys.stderr if self.stream is None else self.stream, flush=True)


def _shown(name: str, value: Any) -> str:
    """A fact in a line; whatever a stranger sent stays in that line."""
    text = json.dumps(value) if not isinstance(value, str) or not value.isprintable() or " " in value else value
    return text if name in ("time", "event") else f"{name}={text}"


def watching(door: Door, *watchers: Callable[[Visit], None]) -> Door:
    """The same door, which tells all of them of every request."""

    def watch(visit: Visit) -> None:
        for watcher in watchers:
            watcher(visit)

    door.watch = watch
    return door
