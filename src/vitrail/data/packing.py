"""Group pairs of similar length into batches of a bounded number of tokens."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Lengths = NDArray[np.int64]


def pack(source_N: Lengths, target_N: Lengths, batch_tokens: int) -> list[NDArray[np.int64]]:
    """Batches of pair indices. Neither side of a batch exceeds `batch_tokens` tokens, padding included.

    A pair longer than that gets a batch of its own.
    """
    order_N = similar_first(source_N, target_N)
    longest_N = np.maximum(source_N, target_N)[order_N]
    return [order_N[start:end] for start, end in _cuts(longest_N, batch_tokens)]


def similar_first(source_N: Lengths, target_N: Lengths) -> NDArray[np.int64]:
    """An order that puts pairs of similar lengths side by side: by target length, then by source length.

    Source lengths rise within one target length and fall within the next, so that they never jump between the two.
    """
    back_and_forth_N = np.where(target_N % 2 == 0, source_N, -source_N)
    return np.lexsort((back_and_forth_N, target_N))


def _cuts(longest_N: Lengths, batch_tokens: int) -> Iterator[tuple[int, int]]:
    """The batches as slices, each as large as the budget allows."""
    start = 0
    while start < len(longest_N):
        # At most this many rows can fit: no need to look further.
        most = max(1, batch_tokens // int(longest_N[start]))
        width = np.maximum.accumulate(longest_N[start : start + most])
        fitting = int(np.count_nonzero(width * np.arange(1, len(width) + 1) <= batch_tokens))
        yield start, start + max(1, fitting)
        start += max(1, fitting)
