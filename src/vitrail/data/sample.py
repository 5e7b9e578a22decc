"""A uniform sample of fixed size from a stream of unknown length; the seed determines it."""

from __future__ import annotations

import math
import random
from typing import Generic, TypeVar

T = TypeVar("T")


class Reservoir(Generic[T]):
    """Li's algorithm L (1994): once the reservoir is full, it skips straight to the next item to keep."""

    def __init__(self, size: int, seed: int) -> None:
        self.items: list[T] = []
        self._size = size
        self._random = random.Random(seed)
        self._seen = 0
        self._next = size  # index of the next item to keep, once full
        self._largest = 1.0
        self._jump()

    def offer(self, item: T) -> None:
        """Offer one more item; it may be kept."""
        if self._seen < self._size:
            self.items.append(item)
        elif self._seen == self._next:
            self.items[self._random.randrange(self._size)] = item
            self._next += 1
            self._jump()
        self._seen += 1

    def _jump(self) -> None:
        self._largest *= math.exp(math.log(self._uniform()) / self._size)
        self._next += math.floor(math.log(self._uniform()) / math.log1p(-self._largest))

    def _uniform(self) -> float:
        return 1.0 - self._random.random()  # never 0, which has no logarithm
