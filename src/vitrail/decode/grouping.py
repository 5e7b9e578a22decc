"""Sentences of similar length in groups: little padding, and memory that a budget bounds. Does not import torch."""

from __future__ import annotations

from collections.abc import Sequence


def batches(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Group indices into batches of at most `batch_tokens` positions, padding included; a longer one goes alone.

    The longest come first, so that running out of memory happens at once.
    """
    made: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        # The first index of a batch is its longest.
        if made and (len(made[-1]) + 1) * lengths[made[-1][0]] <= batch_tokens:
            made[-1].append(index)
        else:
            made.append([index])
    return made
