"""Corpora: sentence pairs from two files, a TSV or JSON-lines file, or the built-in phrasebook."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from vitrail.config import CorpusConfig
from vitrail.data.alignment import empty, misaligned
from vitrail.data.fields import column_index, field_text, is_json_lines, is_tsv, read_object
from vitrail.data.reading import read_lines
from vitrail.errors import DataError
from vitrail.storage import checksum

PHRASEBOOK_PAIRS = 150_000
PHRASEBOOK_HELD_OUT = 500

_SET_FIELDS = "set source_field and target_field to the fields to read"


class Pair(NamedTuple):
    """A source and its translation as read from a corpus; a side is None if it is not valid UTF-8."""

    line: int  # counted from 1
    source: str | None
    target: str | None
    to: str | None  # the target language, if the corpus names it


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs that can be read from the start any number of times, with names for messages."""

    config: CorpusConfig
    seed: int = 0  # of the phrasebook
    held_out: bool = False  # of the phrasebook: the part held out for validation

    @property
    def name(self) -> str:
        """The name used in messages."""
        return self.config.builtin or self.config.pairs or self.config.source or ""

    def where(self, line: int) -> str:
        """A line of the corpus, for an error message."""
        names = f"{self.config.source}, {self.config.target}" if self.config.source else self.name
        return f"{names}, line {line}"

    def files(self) -> tuple[Path, ...]:
        """The files to read."""
        return tuple(Path(name) for name in (self.config.source, self.config.target, self.config.pairs) if name)

    def columns(self) -> tuple[tuple[Path, str], tuple[Path, str]]:
        """File and field of the sources, and of the targets. Several corpora may share one."""
        config = self.config
        if config.source is not None and config.target is not None:
            return (Path(config.source).resolve(), ""), (Path(config.target).resolve(), "")
        file = Path(self.name).resolve()  # the phrasebook has no file, but its name serves as well
        source, target = ("1", "2") if is_tsv(file) else ("source", "target")
        return (file, config.source_field or source), (file, config.target_field or target)

    def stamps(self) -> list[list[str | int]]:
        """What identifies the corpus as it is now: a prepared folder with the same stamps is up to date."""
        if self.config.builtin == "phrasebook":
            from vitrail.data import phrasebook

            code = sorted(Path(phrasebook.__file__).parent.glob("*.py"))
            size = PHRASEBOOK_HELD_OUT if self.held_out else PHRASEBOOK_PAIRS
            return [["phrasebook", size, *(checksum(file) for file in code)]]
        return [_stamp(file) for file in self.files()]

    def targets(self) -> tuple[str, ...]:
        """The target languages, if they are named."""
        if self.config.builtin == "phrasebook":
            return ("en", "fr")
        return (self.config.target_language,) if self.config.target_language else ()

    def pairs(self) -> Iterator[Pair]:
        """All pairs in order; there must be at least one."""
        if self.config.builtin == "phrasebook":
            yield from self._phrasebook
            return
        pair = None
        for pair in self._read():
            yield pair
        if pair is None:
            raise empty(self.files()[0])

    def _read(self) -> Iterator[Pair]:
        config = self.config
        if config.source is not None and config.target is not None:
            return _two_files(Path(config.source), Path(config.target), config.target_language)
        assert config.pairs is not None
        path = Path(config.pairs)
        if is_tsv(path):
            return _tsv(path, config)
        if is_json_lines(path):
            return _json_lines(path, config)
        raise DataError(
            "the file name does not tell whether this is TSV or JSON lines",
            where=str(path),
            fix="rename it to end in .tsv or .jsonl (.gz or .xz may follow), or give two files as source and target",
        )

    @cached_property
    def _phrasebook(self) -> tuple[Pair, ...]:
        """Kept in memory: its size is fixed, and generating it takes longer than reading a file."""
        from vitrail.data import phrasebook

        examples = (
            phrasebook.held_out(PHRASEBOOK_HELD_OUT, self.seed)
            if self.held_out
            else phrasebook.training_pairs(PHRASEBOOK_PAIRS, self.seed)
        )
        return tuple(
            Pair(number, example.source, example.target, example.target_language)
            for number, example in enumerate(examples, 1)
        )


def _stamp(file: Path) -> list[str | int]:
    try:
        found = file.stat()
    except OSError:
        return [str(file.absolute()), "missing"]  # reading it will raise the error
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise DataError(
            "a corpus is read twice, but this is a pipe or a device", where=str(file), fix="write it to a file first"
        )
    return [str(file.absolute()), found.st_size, found.st_mtime_ns]


def _two_files(source: Path, target: Path, to: str | None) -> Iterator[Pair]:
    end = "the end of the file"  # compared by identity: a line may have the same text
    for number, (left, right) in enumerate(zip_longest(read_lines(source), read_lines(target), fillvalue=end), 1):
        if left is end or right is end:
            raise misaligned(source, target)
        yield Pair(number, left, right, to)


def _tsv(path: Path, config: CorpusConfig) -> Iterator[Pair]:
    source, target = (column_index(one, str(path)) for one in (config.source_field or "1", config.target_field or "2"))
    for number, line in enumerate(read_lines(path), 1):
        if not line:  # invalid UTF-8, or an empty line, which is an empty pair
            yield Pair(number, line, line, config.target_language)
            continue
        fields = line.split("\t")
        if len(fields) <= max(source, target):
            raise DataError(
                f"there is no column {max(source, target) + 1}: the line has {len(fields)} tab-separated columns",
                where=f"{path}, line {number}",
                fix="correct the line, or set source_field and target_field to the columns to read, counted from 1",
            )
        yield Pair(number, fields[source], fields[target], config.target_language)


def _json_lines(path: Path, config: CorpusConfig) -> Iterator[Pair]:
    source, target = config.source_field or "source", config.target_field or "target"
    for number, line in enumerate(read_lines(path), 1):
        if not line:
            yield Pair(number, line, line, config.target_language)
            continue
        where = f"{path}, line {number}"
        table = read_object(line, where)
        left, right = (field_text(table, name, where, fix=_SET_FIELDS) for name in (source, target))
        yield Pair(number, left, right, config.target_language)
