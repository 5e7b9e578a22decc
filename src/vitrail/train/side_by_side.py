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

import torch
from torch import Tensor

from vitrail.data import Batch
from vitrail.model import masks_from, numpy_multiplies, openblas_on_one_core

SMALLEST = 512  # target tokens of a part, padding included: below that, Python is what threads wait for

LossOf = Callable[[Tensor, Tensor], Tensor]


class SideBySide:
    """Threads that each take every so many-th row of a batch: sorted by length, what they take is alike."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.others, together = torch.get_num_threads(), Barrier(threads)
        self.pool = ThreadPoolExecutor(threads, initializer=_use, initargs=(1,))
        list(self.pool.map(lambda _: together.wait(), range(threads)))  # all of them have begun
        torch.set_num_threads(self.others)  # they have changed it for every thread that comes after them

    def parts(self, batch: Batch) -> int:
        """Into how many parts a batch is worth splitting: always the same number for a batch and threads."""
        most = min(self.threads, batch.pairs, max(1, batch.target_BT.size // SMALLEST))
        # Several where they are worth it; then as few idle cores as possible, and then as many parts.
        return max(range(min(2, most), most + 1), key=lambda parts: (parts * (self.threads // parts), parts))

    def gradient(
        self, loss_of: LossOf, parameters: Sequence[Tensor], batch: Batch, *, tokens: int, parts: int
    ) -> tuple[float, list[Tensor]]:
        """The summed loss of a batch's rows, and the gradient of its share of `tokens`, in the order of the parts."""

        def go_through(number: int, seed: int) -> None:
            rows = slice(number, None, parts)
            source_BS, target_BT = (torch.from_numpy(side[rows]) for side in (batch.source_BS, batch.target_BT))
            has_changed.append(_use(cores))
            with masks_from(seed), numpy_multiplies(cores == 1):
                loss = loss_of(source_BS, target_BT)
                found.hand_in(number, loss.item(), torch.autograd.grad(loss / tokens, parameters))

        cores, has_changed, found = max(1, self.threads // parts), list[bool](), _Sum()
        seeds = torch.randint(1 << 62, (parts,)).tolist()
        with openblas_on_one_core():
            list(self.pool.map(go_through, range(parts), seeds))
        if any(has_changed):
            torch.set_num_threads(self.others)
        return found.loss, found.gradients


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


def _use(cores: int) -> bool:
    """Let this thread use so many cores; tell whether that is another number than before."""
    # Asked first: a thread takes over the number of all when it is, and setting it costs oneDNN what it made ready.
    if torch.get_num_threads() == cores:
        return False
    torch.set_num_threads(cores)
    return True
