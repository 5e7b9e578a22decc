"""A batch in parts, a thread for each: on a CPU the quickest way through it.

The usual way is to let every operation use all cores. Then they wait for each other a thousand times in a step, and
whatever else the computer does on one of them holds up all. Here each thread goes through rows of its own from the
embedding to the gradient, on one core, and they meet once. As with processes, the sum of what they find is the
gradient of the whole. Where there are more cores than parts that are worth it, a thread has several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vitrail.data import Batch
from vitrail.model import masks_from, numpy_multiplies, openblas_on_one_core
from vitrail.text import PAD

SMALLEST = 512  # target tokens of a part, padding included: below that, Python is what threads wait for
ENOUGH = 4e9  # tokens times weights of a part: with so much to compute, two parts for each thread cost little
DEAR = 1.5  # times as much work as a source token is a target token, with its two attentions and the vocabulary

Ids = NDArray[np.int64]
LossOf = Callable[[Tensor, Tensor], Tensor]


class SideBySide:
    """Threads that each take some rows of a batch, and where there is much to do, some more when they are done.

    One part for each thread has every so many-th row: sorted by length, they are alike. More parts than threads have
    rows with sources of like length, and the padding that they do not need is cut off; who gets a short one is done
    early, and takes the next. They also need less memory at a time.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.others, together = torch.get_num_threads(), Barrier(threads)
        self.pool = ThreadPoolExecutor(threads, initializer=_use, initargs=(1,))
        list(self.pool.map(lambda _: together.wait(), range(threads)))  # all of them have begun
        torch.set_num_threads(self.others)  # they have changed it for every thread that comes after them

    def parts(self, batch: Batch, *, weights: int) -> int:
        """Into how many parts a batch is worth splitting: always the same number for a batch, a model and threads."""
        tokens, twice = batch.target_BT.size, 2 * self.threads
        if batch.pairs >= twice and tokens >= twice * SMALLEST and tokens / twice * weights >= ENOUGH:
            return twice
        most = min(self.threads, batch.pairs, max(1, tokens // SMALLEST))
        # Several where they are worth it; then as few idle cores as possible, and then as many parts.
        return max(range(min(2, most), most + 1), key=lambda parts: (parts * (self.threads // parts), parts))

    def gradient(
        self, loss_of: LossOf, parameters: Sequence[Tensor], batch: Batch, *, parts: int
    ) -> tuple[float, list[Tensor]]:
        """The summed loss of a batch's rows and its gradient, added up in the order of the parts."""

        def go_through(number: int, part: tuple[Ids, Ids], seed: int) -> None:
            source_BS, target_BT = map(torch.from_numpy, part)
            has_changed.append(_use(cores))
            with masks_from(seed), numpy_multiplies(cores == 1):
                loss = loss_of(source_BS, target_BT)
                found.hand_in(number, loss.item(), torch.autograd.grad(loss, parameters))

        cores, has_changed, found = max(1, self.threads // parts), list[bool](), _Sum()
        seeds = torch.randint(1 << 62, (parts,)).tolist()
        with openblas_on_one_core():
            list(self.pool.map(go_through, range(parts), self._split(batch, parts), seeds))
        if any(has_changed):
            torch.set_num_threads(self.others)
        return found.loss, found.gradients

    def _split(self, batch: Batch, parts: int) -> list[tuple[Ids, Ids]]:
        rows: list[Ids] = [np.arange(part, batch.pairs, parts) for part in range(parts)]
        if parts > self.threads:
            longest_first = np.argsort(-_lengths(batch.source_BS), kind="stable")
            work = np.cumsum((_lengths(batch.source_BS) + DEAR * _lengths(batch.target_BT))[longest_first])
            ends = np.searchsorted(work, work[-1] * np.arange(1, parts) / parts)  # as much for each
            before = np.arange(1, parts)  # a part has a row at least
            ends = np.maximum.accumulate(np.clip(ends - before, 0, batch.pairs - parts)) + before
            rows = np.split(longest_first, ends)
        return [(_trim(batch.source_BS[some]), _trim(batch.target_BT[some])) for some in rows]


class _Sum:
    """What the parts found, added up in their order, whichever is done first.

    A thread that hands in adds, too, what had to wait for it. Who waits for all of them must not: with cores of its
    own it would take them from those who still compute.
    """

    def __init__(self) -> None:
        self.loss, self.gradients = 0.0, list[Tensor]()
        self._lock, self._next = Lock(), 0
        self._waiting: dict[int, tuple[float, tuple[Tensor, ...]]] = {}

    def hand_in(self, number: int, loss: float, gradients: tuple[Tensor, ...]) -> None:
        """What part `number` found."""
        with self._lock:
            self._waiting[number] = loss, gradients
            while self._next in self._waiting:
                self._add(*self._waiting.pop(self._next))
                self._next += 1

    def _add(self, loss: float, gradients: tuple[Tensor, ...]) -> None:
        self.loss += loss
        if not self.gradients:
            self.gradients = list(gradients)
            return
        for total, gradient in zip(self.gradients, gradients, strict=True):
            total.add_(gradient)


def _lengths(ids_BT: Ids) -> Ids:
    found: Ids = np.count_nonzero(ids_BT != PAD, axis=1)
    return found


def _trim(ids_BT: Ids) -> Ids:
    """Without the columns at the end that are padding in every row."""
    return np.ascontiguousarray(ids_BT[:, : _lengths(ids_BT).max()])


def _use(cores: int) -> bool:
    """Let this thread use so many cores; tell whether that is another number than before."""
    # Asked first: a thread takes over the number of all when it is, and setting it costs oneDNN what it made ready.
    if torch.get_num_threads() == cores:
        return False
    torch.set_num_threads(cores)
    return True
