"""Pairs of similar length into batches of a bounded number of tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Lengths = NDArray[np.int64]


def pack(source_N: Lengths, target_N: Lengths, batch_tokens: int) -> list[NDArray[np.int64]]:
    """Batches, as numbers of pairs, in which neither side has more than `batch_tokens` tokens, padding included.

    A pair that is longer than that makes a batch of its own.
    """
    order_N = similar_first(source_N, target_N)
    longest_N = np.maximum(source_N, target_N)[order_N]
    return [order_N[start:end] for start, end in _cuts(longest_N, batch_tokens)]


def similar_first(source_N: Lengths, target_N: Lengths) -> NDArray[np.int64]:
    """The order in which neighbours are alike on both sides: by target length, and within it by source length.

    Sources go up in one target length and down in the next, so that there is no jump between the two.
    """
    back_and_forth_N = np.where(target_N % 2 == 0, source_N, -source_N)
    return np.lexsort((back_and_forth_N, target_N))


def _cuts(longest_N: Lengths, batch_tokens: int) -> Iterator[tuple[int, int]]:
    """The batches as slices, each as long as the budget allows."""
    start = 0
    while start < len(longest_N):
        # No more rows than this can fit, so that no more have to be looked at.
        most = max(1, batch_tokens // int(longest_N[start]))
        width = np.maximum.accumulate(longest_N[start : start + most])
        fitting = int(np.count_nonzero(width * np.arange(1, len(width) + 1) <= batch_tokens))
        yield start, start + max(1, fitting)
        start += max(1, fitting)
