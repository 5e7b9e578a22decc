"""Threads that work side by side, each on one core.

The usual way is to let every operation use all cores. In a search these are small: the cores would mostly wait for each
other. torch computes without holding Python's lock, so threads with searches of their own keep all cores busy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from types import TracebackType
from typing import Self, TypeVar

import torch

WorkT = TypeVar("WorkT")
ResultT = TypeVar("ResultT")


class Workers:
    """As many threads as `count`. They last: a new one would discard what oneDNN has prepared for the others."""

    def __init__(self, count: int) -> None:
        self.count = count
        others, together = torch.get_num_threads(), Barrier(count)
        self._pool = ThreadPoolExecutor(count, "vitrail-worker", initializer=_use_one_core)
        list(self._pool.map(lambda _: together.wait(), range(count)))  # all of them have started
        torch.set_num_threads(others)  # they have changed it for every thread that starts after them

    def map(self, work: Callable[[WorkT], ResultT], each: Iterable[WorkT]) -> Iterator[ResultT]:
        """Start work at once; its results come in order. After an error, or if nobody waits, nothing new begins."""
        return _Results([self._pool.submit(work, one) for one in each])

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


class _Results(Iterator[ResultT]):
    """What threads are working on."""

    def __init__(self, futures: Iterable[Future[ResultT]]) -> None:
        self._waiting = deque(futures)

    def __next__(self) -> ResultT:
        if not self._waiting:
            raise StopIteration
        try:
            return self._waiting.popleft().result()
        except BaseException:  # Ctrl-C, too
            self._cancel()
            raise

    def __del__(self) -> None:
        self._cancel()

    def _cancel(self) -> None:
        for future in self._waiting:
            future.cancel()


@contextmanager
def on_cores(count: int | None) -> Iterator[None]:
    """In this block each of torch's operations uses `count` cores; None changes nothing."""
    if count is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _use_one_core() -> None:
    torch.get_num_threads()  # a thread that is asked for the first time takes the number that others have set
    torch.set_num_threads(1)
