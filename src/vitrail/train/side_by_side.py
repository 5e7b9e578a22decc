"""A batch in parts, a thread for each: on a CPU the quickest way through it.

The usual way is to let every operation use all cores. Then they wait for each other a thousand times in a step, and
whatever else the computer does on one of them holds up all. Here each thread goes through rows of its own from the
embedding to the gradient, on one core, and they meet once. As with processes, the sum of what they find is the
gradient of the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import torch
from torch import Tensor

from vitrail.data import Batch
from vitrail.model import masks_from

SMALLEST = 512  # target tokens of a part, padding included: below that, Python is what threads wait for

LossOf = Callable[[Tensor, Tensor], Tensor]


class SideBySide:
    """Threads that each take every so many-th row of a batch. Sorted by length, their parts are alike."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        before, together = torch.get_num_threads(), Barrier(threads)
        self.pool = ThreadPoolExecutor(threads, initializer=_on_one_core)
        list(self.pool.map(lambda _: together.wait(), range(threads)))  # all of them have begun
        torch.set_num_threads(before)  # they have changed it for every thread that comes after them

    def parts(self, batch: Batch) -> int:
        """Into how many parts a batch is worth splitting: always the same number for a batch and so many threads."""
        return min(self.threads, batch.pairs, max(1, batch.target_BT.size // SMALLEST))

    def gradient(
        self, loss_of: LossOf, parameters: Sequence[Tensor], batch: Batch, *, parts: int
    ) -> tuple[float, list[Tensor]]:
        """The summed loss of a batch's rows and its gradient, added up in the order of the parts."""

        def go_through(part: int, seed: int) -> tuple[float, tuple[Tensor, ...]]:
            rows = slice(part, None, parts)
            with masks_from(seed):
                loss = loss_of(torch.from_numpy(batch.source_BS[rows]), torch.from_numpy(batch.target_BT[rows]))
                return loss.item(), torch.autograd.grad(loss, parameters)

        seeds = torch.randint(1 << 62, (parts,)).tolist()
        (loss_sum, first), *others = self.pool.map(go_through, range(parts), seeds)
        for loss, gradients in others:
            loss_sum += loss
            for total, gradient in zip(first, gradients, strict=True):
                total.add_(gradient)
        return loss_sum, list(first)


def _on_one_core() -> None:
    torch.set_num_threads(1)
    torch.get_num_threads()  # a thread takes over the number of all when it is first asked: now, not later
