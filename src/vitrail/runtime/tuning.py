"""How to use this machine for a model: measured once on made-up sentences, and remembered in the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vitrail.documents import Document
from vitrail.errors import StorageError
from vitrail.storage import read_text, write_text
from vitrail.text.special import EOS

LEAST = 256  # sentences for which it pays to measure
BATCH_TOKENS = (256, 512, 1024, 2048, 4096)
_SENTENCES = (32, 256)  # to measure with, at least and at most


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


def usual(cores: int) -> Tuning:
    """What to do before anything is measured."""
    return Tuning(workers=cores, batch_tokens=1024)


def measure(
    cores: int, translate: Callable[[Tuning, Sequence[Sequence[int]]], None], *, parameters: int, vocabulary: int
) -> Tuning:
    """Try batch sizes with all cores, then half of the cores: two threads of one core may be slower than one."""
    rows = made_up(parameters, vocabulary)

    def seconds(tuning: Tuning) -> float:
        started = time.perf_counter()
        translate(tuning, rows)
        return time.perf_counter() - started

    seconds(usual(cores))  # warm up
    best = min((Tuning(workers=cores, batch_tokens=size) for size in BATCH_TOKENS), key=seconds)
    if cores < 4:
        return best
    return min((best, Tuning(workers=cores // 2, batch_tokens=best.batch_tokens)), key=seconds)


def made_up(parameters: int, vocabulary: int) -> list[list[int]]:
    """Random sentences of 4 to 25 tokens, fewer of them if the model is large."""
    fewest, most = _SENTENCES
    count = max(fewest, min(most, most * 10_000_000 // max(parameters, 1)))
    chance = random.Random(1)
    lengths = [chance.randint(3, 24) for _ in range(count)]
    return [[*(chance.randrange(EOS + 1, max(vocabulary, EOS + 2)) for _ in range(length)), EOS] for length in lengths]


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
