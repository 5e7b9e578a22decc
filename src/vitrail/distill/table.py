"""The teacher and the student side by side: speed, size and quality on the same sentences.

Each is measured with its own beam size, the other's, and greedily: students often need no beam (Kim and Rush 2016).
Speed is measured in turns, so that whatever else the machine does affects all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from statistics import median
from typing import Any

from vitrail.config import change_settings
from vitrail.data import ValidationSet
from vitrail.evaluate import measure
from vitrail.folder import WEIGHTS, ModelFolder
from vitrail.translator import Translator

TABLE = "table.json"
ROUNDS = 3
TIMED = 1000  # sentences of each set whose translation is timed

Report = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class System:
    """A model to measure, and the language to ask it for in each set."""

    name: str
    translator: Translator
    asked: tuple[str | None, ...]

    def translate(self, one: ValidationSet, to: str | None, beam_size: int) -> list[str]:
        """Translate a set. A line with unknown words is left empty, as `vitrail evaluate` does."""
        decode = change_settings(self.translator.config, {"beam_size": beam_size, "top_beams": 1, "sample": False})
        done = self.translator.translate(one.sources, to=to, decode=decode, on_unknown="skip")
        return [translation.text for translation in done]


@dataclass(frozen=True)
class Row:
    """One system with one search."""

    system: str
    model: str
    beam_size: int
    is_own: bool  # the beam size is the model's own setting
    parameters: int
    megabytes: float  # of the weights as stored
    sentences_per_second: float
    times_as_fast: float  # as the first row, in the same round
    bleu: tuple[float, ...]  # for each set
    chrf: tuple[float, ...]


@dataclass(frozen=True)
class Table:
    """The first row is the teacher as it is: the others are compared with it."""

    sets: tuple[str, ...]
    lines: tuple[int, ...]
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        numbers = [f" ({number})" for number in range(1, len(self.sets) + 1)] if len(self.sets) > 1 else [""]
        head = ["", "beam_size", "sentences/s", "times as fast", "parameters", "MB"]
        head += [f"{metric}{number}" for metric in ("BLEU", "chrF") for number in numbers]
        cells = [head, *(_cells(row) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join([line[0].ljust(widths[0]), *(map(str.rjust, line[1:], widths[1:]))]).rstrip() for line in cells
        ]
        legend = [
            f"{number.strip() or 'on'} {name}, {lines_of_set:,} sentences"
            for number, name, lines_of_set in zip(numbers, self.sets, self.lines, strict=True)
        ]
        return "\n".join([*lines, "* the model's own beam_size", *legend])


@dataclass(frozen=True)
class _Search:
    """A system with a beam size."""

    system: System
    beam_size: int

    def scores(self, sets: Sequence[ValidationSet], tokenize: str) -> list[tuple[float, float]]:
        """BLEU and chrF on each set."""
        found = [measure(mine, one.references, tokenize=tokenize, resamples=0) for mine, one in self._each(sets)]
        return [(one["bleu"].score, one["chrf"].score) for one in found]

    def seconds(self, sets: Sequence[ValidationSet]) -> float:
        """How long all sets take."""
        started = time.perf_counter()
        for _ in self._each(sets):
            pass
        return time.perf_counter() - started

    def _each(self, sets: Sequence[ValidationSet]) -> Iterator[tuple[list[str], ValidationSet]]:
        for one, to in zip(sets, self.system.asked, strict=True):
            yield self.system.translate(one, to, self.beam_size), one


def compare_speed_and_quality(
    systems: Sequence[System], sets: Sequence[ValidationSet], *, tokenize: str, report: Report, rounds: int = ROUNDS
) -> Table:
    """Translate the sets with every system and search: once to score, then `rounds` times in turns for the speed."""
    own = [system.translator.config.beam_size for system in systems]
    beams = sorted({*own, 1}, key=lambda beam: (beam != own[0], -beam))  # the first row is the first system as it is
    searches = [_Search(system, beam) for system in systems for beam in beams]
    timed = [ValidationSet(one.name, one.to, one.sources[:TIMED], one.references[:TIMED]) for one in sets]
    done, total = count(1), len(searches) * (1 + rounds)
    scores: list[list[tuple[float, float]]] = []
    seconds: list[list[float]] = []  # by round and search
    for search in searches:
        scores.append(search.scores(sets, tokenize))  # this also converts the model and chooses its batch size
        report("comparing", next(done), total)
    for _ in range(rounds):
        seconds.append([])
        for search in searches:
            seconds[-1].append(search.seconds(timed))
            report("comparing", next(done), total)
    sentences = sum(len(one.sources) for one in timed)
    rows = []
    for number, (search, found) in enumerate(zip(searches, scores, strict=True)):
        speed = sentences / median(turn[number] for turn in seconds)
        rows.append(_row(search, speed, median(turn[0] / turn[number] for turn in seconds), found))
    return Table(tuple(one.name for one in sets), tuple(len(one.sources) for one in sets), tuple(rows))


def _row(search: _Search, speed: float, times_as_fast: float, scores: list[tuple[float, float]]) -> Row:
    translator = search.system.translator
    assert translator.folder is not None
    return Row(
        system=search.system.name,
        model=translator.name,
        beam_size=search.beam_size,
        is_own=search.beam_size == translator.config.beam_size,
        parameters=_parameters(translator.folder),
        megabytes=(translator.folder.path / WEIGHTS).stat().st_size / 1e6,
        sentences_per_second=speed,
        times_as_fast=times_as_fast,
        bleu=tuple(bleu for bleu, _ in scores),
        chrf=tuple(chrf for _, chrf in scores),
    )


def _cells(row: Row) -> list[str]:
    return [
        row.system,
        f"{row.beam_size}{'*' if row.is_own else ' '}",
        f"{row.sentences_per_second:,.0f}",
        f"{row.times_as_fast:.2f}",
        f"{row.parameters:,}",
        f"{row.megabytes:.1f}",
        *(f"{score:.1f}" for score in (*row.bleu, *row.chrf)),
    ]


def _parameters(folder: ModelFolder) -> int:
    """How many numbers the model has, however they are stored."""
    import torch

    with torch.device("meta"):
        return sum(parameter.numel() for parameter in folder.new_model().parameters())
