"""Lines in chunks: of a fixed size, or, from a pipe, as many as are there."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

LineT = TypeVar("LineT")

_FIRST = 16  # lines at most in the first chunk of a pipe: whoever waits for the output sees it begin
_BLOCK = 1 << 16  # bytes: what a pipe holds


def fixed_chunks(lines: Iterable[LineT], size: int) -> Iterator[list[LineT]]:
    """Chunks of `size` lines; the last may be shorter. An error comes after the lines before it."""
    chunk: list[LineT] = []
    try:
        for line in lines:
            chunk.append(line)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except Exception:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


def arriving_chunks(lines: Iterable[LineT], size: int) -> Iterator[list[LineT]]:
    """Chunks of the lines that have arrived: at most `size`. An empty one says that the next has to be waited for.

    A thread waits for the lines, so it must be safe to leave it waiting when the program ends: `sys.stdin` is not,
    `arriving_lines` is.
    """
    waiting = _Waiting[LineT](size)
    threading.Thread(target=waiting.fill, args=(lines,), daemon=True).start()
    limit = min(_FIRST, size)
    try:
        while True:
            if not waiting.has_any():
                yield []
            if not (chunk := waiting.take(limit)):
                return
            yield chunk
            limit = min(2 * limit, size)
    finally:
        waiting.leave()


def with_an_end(chunks: Iterator[list[LineT]]) -> Iterator[list[LineT]]:
    """Chunks, and an empty one at the end or before an error: time to finish what was begun."""
    try:
        yield from chunks
    except Exception:
        yield []
        raise
    yield []


def arriving_lines(descriptor: int) -> Iterator[bytes]:
    """The lines of a pipe or a terminal, each as soon as it is there, with their endings.

    Unlike Python's own readers it holds no lock while it waits, which would crash the interpreter at its end.
    """
    begun: list[bytes] = []  # the pieces of an unfinished line
    while block := os.read(descriptor, _BLOCK):
        first, *others = block.split(b"\n")
        begun.append(first)
        for piece in others:
            yield b"".join((*begun, b"\n"))
            begun = [piece]
    if rest := b"".join(begun):
        yield rest


class _Waiting(Generic[LineT]):
    """Lines between the thread that reads them and the one that takes them; never more than `size`."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.lines: deque[LineT] = deque()
        self.changed = threading.Condition()
        self.is_over = False  # no line will follow
        self.is_left = False  # nobody will take one
        self.error: BaseException | None = None

    def fill(self, lines: Iterable[LineT]) -> None:
        """Read until the end, an error, or until nobody takes lines any more."""
        try:
            for line in lines:
                with self.changed:
                    self.changed.wait_for(lambda: self.is_left or len(self.lines) < self.size)
                    if self.is_left:
                        return
                    self.lines.append(line)
                    self.changed.notify_all()
        except BaseException as error:
            self.error = error
        finally:
            with self.changed:
                self.is_over = True
                self.changed.notify_all()

    def has_any(self) -> bool:
        """Whether a line is there."""
        with self.changed:
            return bool(self.lines)

    def take(self, limit: int) -> list[LineT]:
        """Wait for a line, and take it with those behind it; empty at the end. An error comes after the last line."""
        with self.changed:
            self.changed.wait_for(lambda: self.is_over or self.lines)
            taken = [self.lines.popleft() for _ in range(min(limit, len(self.lines)))]
            self.changed.notify_all()
        if not taken and self.error is not None:
            raise self.error
        return taken

    def leave(self) -> None:
        """Take no more lines."""
        with self.changed:
            self.is_left = True
            self.changed.notify_all()
