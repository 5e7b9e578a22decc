"""Random choices that are the same on every machine: built only on `Random.random`, which Python keeps stable."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar

T = TypeVar("T")


class Dice:
    """Draws in a fixed order from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[int(self._random() * len(options))]

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random() < probability

    def weigh(self, options: Weighted[T]) -> T:
        """One of the options, with probability proportional to its weight."""
        return options.values[bisect(options.bounds, self._random() * options.total)]


class Weighted(Generic[T]):
    """Options with weights."""

    def __init__(self, weights: Mapping[T, float]) -> None:
        self.values = tuple(weights)
        *bounds, self.total = accumulate(weights.values())
        self.bounds = tuple(bounds)
