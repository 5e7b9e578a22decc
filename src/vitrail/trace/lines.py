"""Files with one JSON object per line. A run may still be appending to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from vitrail.documents import parse_json
from vitrail.storage import LINES, regular, whole_lines

LARGEST = 1 << 30  # bytes of a file whose lines are read one by one
LONGEST = 1 << 25  # bytes of a line
MOST = 1 << 20  # lines

ItemT = TypeVar("ItemT")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read every complete line; a ValueError if one is not a JSON object.

    A partial last line is still being written and is skipped.
    """
    return [_object(line) for line in whole_lines(path) if line]


def read_spread(path: Path, count: int) -> list[dict[str, Any]]:
    """The first complete line and at most `count` of the others, evenly spaced; fewer if they are very long."""
    with regular(path, most=LARGEST).open("rb") as file:
        first, *others = [*_places(file)] or [(0, 0)]
        chosen = spread(others, count)
        while sum(end - start for start, end in chosen) > LINES and len(chosen) > 1:
            chosen = spread(chosen, len(chosen) // 2)
        return [_object(_between(file, *place)) for place in (first, *chosen)]


def spread(items: Sequence[ItemT], count: int) -> list[ItemT]:
    """At most `count` of the items, evenly spaced, including the first and the last; of two or fewer, the last."""
    if len(items) <= count:
        return list(items)
    if count == 1:
        return [items[-1]]
    return [items[round(number * (len(items) - 1) / (count - 1))] for number in range(count)]


def _places(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """Where each complete line begins and ends; a ValueError if there are too many, or one is too long."""
    start = number = 0
    while line := file.readline(LONGEST):
        number += 1
        if number > MOST:
            raise ValueError(f"it has more than {MOST:,} lines")
        if line.endswith(b"\n"):
            yield start, start + len(line)
        elif len(line) == LONGEST:
            raise ValueError(f"line {number} has more than {LONGEST:,} bytes")
        start += len(line)


def _between(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _object(line: str | bytes) -> dict[str, Any]:
    found = parse_json(line)
    if not isinstance(found, dict):
        raise ValueError("a line is not a JSON object")
    return found
