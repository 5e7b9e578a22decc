"""The lines that a command is given: a file's, read in chunks, or those of a pipe, as they arrive."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Given:
    """Lines to translate. `total` is None if they cannot be counted; `live`: they come from a pipe or a person."""

    name: str
    lines: Iterator[str]
    total: int | None
    live: bool


@contextmanager
def opened(path: Path | None) -> Iterator[Given]:
    """The lines of a file, or of standard input."""
    from vitrail.data import arriving_lines, count_lines, read_sentences, sentences_from

    if path is None:
        yield _standard_input()
    elif is_device(path):
        with path.open("rb", buffering=0) as pipe:
            name = str(path)
            yield Given(name, sentences_from(arriving_lines(pipe.fileno()), name), None, live=True)
    else:
        yield Given(str(path), read_sentences(path), count_lines(path), live=False)


def is_device(path: Path) -> bool:
    """Whether this is a device or a pipe, which cannot be read twice or replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def is_same_file(given: Path | None, other: Path) -> bool:
    """Whether the lines are read from this file, be it through a link or as standard input."""
    try:
        found = os.fstat(sys.stdin.fileno()) if given is None else given.stat()
        return os.path.samestat(found, other.stat())
    except OSError:  # one of them does not exist, or standard input is not a file at all
        return False


def _standard_input() -> Given:
    from vitrail.data import arriving_lines, count_lines_of, sentences_from

    name, stream = "standard input", sys.stdin.buffer
    try:
        is_file = stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except io.UnsupportedOperation:  # held in memory
        return Given(name, sentences_from(stream, name), None, live=False)
    if not is_file:
        return Given(name, sentences_from(arriving_lines(stream.fileno()), name), None, live=True)
    start = stream.tell()
    total = count_lines_of(stream)
    stream.seek(start)
    return Given(name, sentences_from(stream, name), total, live=False)
