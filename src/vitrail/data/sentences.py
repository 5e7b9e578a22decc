"""Sentences to translate or score, one per line. Every line counts, so an unreadable one is an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from vitrail.config import CorpusConfig
from vitrail.data.alignment import misaligned
from vitrail.data.corpora import Corpus
from vitrail.data.reading import after_mark, decode_line, read_lines
from vitrail.errors import DataError


def read_sentences(path: Path) -> Iterator[str]:
    """The lines of a text file, plain, .gz or .xz."""
    return _readable(read_lines(path), str(path))


def read_aligned(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """The lines of two parallel files."""
    sources, targets = list(read_sentences(source)), list(read_sentences(target))
    if len(sources) != len(targets):
        raise misaligned(source, target)
    return sources, targets


def read_pairs(
    path: Path, *, source_field: str | None = None, target_field: str | None = None
) -> tuple[list[str], list[str]]:
    """Both sides of a TSV or JSON-lines file of pairs; fields as in a recipe's corpus."""
    corpus = Corpus(CorpusConfig(pairs=str(path), source_field=source_field, target_field=target_field))
    sides: tuple[list[str], list[str]] = ([], [])
    for pair in corpus.pairs():
        if pair.source is None or pair.target is None:
            raise DataError(
                "this line is not UTF-8",
                where=corpus.where(pair.line),
                fix="save the text as UTF-8",
            )
        sides[0].append(pair.source)
        sides[1].append(pair.target)
    return sides


def sentences_from(stream: Iterable[bytes], name: str) -> Iterator[str]:
    """The lines of a stream, such as standard input, given as bytes."""
    lines = (after_mark(line, name) if number == 0 else line for number, line in enumerate(stream))
    return _readable((decode_line(line) for line in lines), name)


def _readable(lines: Iterable[str | None], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if line is None:
            raise DataError("this line is not UTF-8", where=f"{name}, line {number}", fix="save the text as UTF-8")
        yield line
