"""Byte-pair encoding one word at a time: its characters are joined, the best pair first, until no pair is a piece.

BPE-dropout (Provilkov et al. 2020) leaves out some of the pairs at every step, so that a word comes in many ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SPACE = "▁"  # what sentencepiece writes before a word


@dataclass(frozen=True)
class Piece:
    """A piece that text can turn into: not a special symbol, and not a byte."""

    id: int
    score: float  # the higher, the earlier it is made of its parts


class Merges:
    """The pieces of a vocabulary, and how a word is made of them."""

    def __init__(self, pieces: Mapping[str, Piece]) -> None:
        self._pieces = pieces

    def segment(self, word: str, *, is_dropped: Callable[[], bool] = lambda: False) -> list[int] | None:
        """The ids of a word's pieces; `is_dropped` is asked about every pair at every step.

        None where a character is no piece: it would have to be spelled in bytes.
        """
        parts = list(word)
        if not all(character in self._pieces for character in parts):
            return None
        # What each part and its right neighbour would make, if that is a piece: a merge changes only those around it.
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
    """Where the pair with the best score stands, of several the leftmost."""
    best, best_score = None, float("-inf")
    for place, piece in enumerate(pairs):
        if piece is not None and not is_dropped() and piece.score > best_score:
            best, best_score = place, piece.score
    return best
