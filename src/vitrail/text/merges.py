"""Byte-pair encoding of one word: merge its characters, the best pair first, until no pair is a piece.

BPE-dropout (Provilkov et al. 2020) skips some of the pairs at every step, so that a word can split in many ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SPACE = "▁"  # what sentencepiece writes before a word


@dataclass(frozen=True)
class Piece:
    """A piece of text with an id: neither a special symbol nor a byte."""

    id: int
    score: float  # pieces with higher scores are merged first


class Merges:
    """The pieces of a vocabulary, and how words split into them."""

    def __init__(self, pieces: Mapping[str, Piece]) -> None:
        self._pieces = pieces

    def segment(self, word: str, *, is_dropped: Callable[[], bool] = lambda: False) -> list[int] | None:
        """The ids of a word's pieces; `is_dropped` decides, for every pair at every step, whether to skip it.

        None if a character is not a piece, because it must be spelled in bytes.
        """
        parts = list(word)
        if not all(character in self._pieces for character in parts):
            return None
        # The piece that each part and its right neighbour form, if any. A merge changes only the entries beside it.
        pairs = [self._pieces.get(left + right) for left, right in pairwise(parts)]
        while (best := _best(pairs, is_dropped)) is not None:
            parts[best : best + 2] = [parts[best] + parts[best + 1]]
            del pairs[best]
            if best > 0:
                pairs[best - 1] = self._pieces.get(parts[best - 1] + parts[best])
            if best < len(pairs):
                pairs[best] = self._pieces.get(parts[best] + parts[best + 1])
        return [self._pieces[part].id for part in parts]


def _best(pairs: Sequence[Piece | None], is_dropped: Callable[[], bool]) -> int | None:
    """The index of the pair with the best score, the leftmost if several have it."""
    best, best_score = None, float("-inf")
    for place, piece in enumerate(pairs):
        if piece is not None and not is_dropped() and piece.score > best_score:
            best, best_score = place, piece.score
    return best
