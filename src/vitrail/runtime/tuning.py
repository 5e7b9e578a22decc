"""How to use this machine for a model: measured once on some of its sentences, and remembered in the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path

from vitrail.documents import Document
from vitrail.errors import StorageError
from vitrail.storage import read_text, write_text

BATCH_TOKENS = (512, 1024, 2048)
LEAST = 512  # sentences for which it pays to measure
_SENTENCES = (64, 512)  # to measure with, at least and at most: they fill several batches, so that all cores have work
_SMALL = 10_000_000  # parameters: larger models are measured with fewer sentences
_TURNS = 2


class Tuning(Document):
    """What was found to be fastest."""

    workers: int  # batches that are searched at the same time, each on one thread: they never wait for each other
    batch_tokens: int  # source positions of a batch, padding included


@dataclass(frozen=True)
class Memory:
    """What is remembered about one model on this machine."""

    path: Path | None  # None: nothing can be

    @classmethod
    def of(cls, cache: Path | None, model: str, *, cores: int) -> Memory:
        """The memory of a model, named by its `model` key, for so many cores of this processor."""
        if cache is None:
            return cls(None)
        key = hashlib.sha256(json.dumps([model, cores, _processor()]).encode()).hexdigest()[:32]
        return cls(cache / "tuning" / f"{key}.json")

    def recall(self, *, cores: int) -> Tuning | None:
        """What was found before."""
        if self.path is None:
            return None
        with suppress(OSError, ValueError):
            known = Tuning.parse(read_text(self.path))
            if 1 <= known.workers <= cores and known.batch_tokens in BATCH_TOKENS:
                return known
        return None

    def keep(self, tuning: Tuning) -> None:
        """Remember, if there is a place for it."""
        if self.path is not None:
            with suppress(StorageError):
                write_text(self.path, tuning.model_dump_json() + "\n")


def usual(cores: int, precision: str) -> Tuning:
    """What to do before anything is measured."""
    return Tuning(workers=cores, batch_tokens=512 if precision == "int8" else 1024)


def measure(
    cores: int, translate: Callable[[Tuning, Sequence[Sequence[int]]], None], rows: Sequence[Sequence[int]]
) -> Tuning:
    """Try batch sizes with all cores, then half of the cores: two threads of one core may be slower than one.

    They take turns, and the shortest time of each counts: what else goes on only makes it longer. Batch sizes are told
    apart by the processor's time, which what else goes on hardly changes; numbers of workers need the clock's.
    """

    def fastest(tunings: Sequence[Tuning], clock: Callable[[], float]) -> Tuning:
        taken = dict.fromkeys(tunings, inf)
        for tuning in (*tunings,) * _TURNS:
            started = clock()
            translate(tuning, rows)
            taken[tuning] = min(taken[tuning], clock() - started)
        return min(tunings, key=taken.__getitem__)

    translate(Tuning(workers=cores, batch_tokens=BATCH_TOKENS[0]), rows[: _SENTENCES[0]])  # warm up
    best = fastest([Tuning(workers=cores, batch_tokens=size) for size in BATCH_TOKENS], time.process_time)
    if cores < 4:
        return best
    return fastest([best, Tuning(workers=cores // 2, batch_tokens=best.batch_tokens)], time.perf_counter)


def sample(rows: Sequence[Sequence[int]], parameters: int) -> list[Sequence[int]]:
    """Some of a job's sentences, short and long ones as they are mixed there: all must be read, and not take long."""
    fewest, most = _SENTENCES
    count = min(len(rows), max(fewest, min(most, most * _SMALL // max(parameters, 1))))
    return [rows[index * len(rows) // count] for index in range(count)]


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    """The name of the processor, as far as the system tells."""
    with suppress(OSError):
        for line in read_text(Path("/proc/cpuinfo")).splitlines():
            if line.startswith("model name"):
                return line
    return platform.processor() or platform.machine()
