"""Split a batch into shares, one thread each: the fastest way to train on a CPU.

The usual way is to let every operation use all cores. Then they wait for each other a thousand times per step, and
any other work on one core holds up all of them. Here each thread takes its own rows from the embedding to the gradient,
on one core, and they synchronise once. As with processes, the sum of their gradients is the gradient of the batch. If
there are more cores than shares worth computing, a thread gets several cores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier, Lock

import torch
from torch import Tensor

from vitrail.data import Batch
from vitrail.fast import openblas_on_one_core

SMALLEST = 512  # target tokens of a share, padding included: with fewer, threads wait for Python


@dataclass(frozen=True)
class Share:
    """What one thread computes: some rows of a batch."""

    number: int
    cores: int
    seed: int  # of its dropout: torch's own generator serves all threads, in the order in which they happen to ask
    source_BS: Tensor
    target_BT: Tensor


LossOf = Callable[[Share], Tensor]


class SideBySide:
    """Threads that each take every n-th row of a batch. Rows are sorted by length, so the shares are alike."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.others, together = torch.get_num_threads(), Barrier(threads)
        self.pool = ThreadPoolExecutor(threads, initializer=_use, initargs=(1,))
        list(self.pool.map(lambda _: together.wait(), range(threads)))  # all of them have started
        torch.set_num_threads(self.others)  # they have changed it for every thread that starts after them

    def shares(self, batch: Batch) -> int:
        """How many shares a batch is worth splitting into. It depends only on the batch and the threads."""
        most = min(self.threads, batch.pairs, max(1, batch.target_BT.size // SMALLEST))
        # Several if they are worth it, then as few idle cores as possible, then as many shares as possible.
        return max(range(min(2, most), most + 1), key=lambda shares: (shares * (self.threads // shares), shares))

    def gradient(
        self, loss_of: LossOf, parameters: Sequence[Tensor], batch: Batch, *, tokens: int
    ) -> tuple[float, list[Tensor]]:
        """The summed loss of a batch's rows, and their gradient divided by `tokens`."""
        shares = self.shares(batch)
        cores, has_changed, found = max(1, self.threads // shares), list[bool](), _Sum()

        def go_through(number: int, seed: int) -> None:
            rows = slice(number, None, shares)
            source_BS, target_BT = (torch.from_numpy(side[rows]) for side in (batch.source_BS, batch.target_BT))
            has_changed.append(_use(cores))
            loss = loss_of(Share(number, cores, seed, source_BS, target_BT))
            found.hand_in(number, loss.item(), torch.autograd.grad(loss / tokens, parameters))

        seeds = [draw_seed() for _ in range(shares)]
        with openblas_on_one_core():
            list(self.pool.map(go_through, range(shares), seeds))
        if any(has_changed):
            torch.set_num_threads(self.others)
        return found.loss, found.gradients


def draw_seed() -> int:
    """A seed from torch's own generator, which a checkpoint restores."""
    return int(torch.randint(1 << 62, ()))


class _Sum:
    """Adds the gradients of the shares in a fixed order, whichever is done first.

    The thread that hands in a share also adds what had to wait for it. The thread that waits for all of them must not:
    it would take cores from those that still compute.
    """

    def __init__(self) -> None:
        self.loss, self.gradients = 0.0, list[Tensor]()
        self._lock, self._next = Lock(), 0
        self._waiting: dict[int, tuple[float, tuple[Tensor, ...]]] = {}

    def hand_in(self, number: int, loss: float, gradients: tuple[Tensor, ...]) -> None:
        """Add the gradient of share `number`."""
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
    """Let this thread use so many cores; return whether that changed."""
    # Asked first, because setting it discards what oneDNN has prepared.
    if torch.get_num_threads() == cores:
        return False
    torch.set_num_threads(cores)
    return True
