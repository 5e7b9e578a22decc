"""Stretches of a corpus whose target is shifted against its source, found without a model.

Two lines are alike if they have the same numbers, end with the same mark, share words of four letters or more (names),
and are about as long as translations in this corpus are. In each window of lines the true partner is compared with the
neighbours of that line: if a neighbour is clearly better, over the whole window, the stretch is shifted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

WINDOW = 100  # lines
SHIFTS = (-3, -2, -1, 1, 2, 3)
CLEARLY = 6.0  # standard errors
_MARKS = "?!….:;。？！"
_NUMBER, _WORD = re.compile(r"\d+"), re.compile(r"[^\W\d_]{4,}")
_ONES = np.array([bin(number).count("1") for number in range(256)], dtype=np.float32)


@dataclass(frozen=True)
class Stretch:
    """Consecutive pairs, as places in the given lists, whose target belongs to the source `shift` lines before."""

    first: int
    last: int
    shift: int


def shifted_stretches(sources: Sequence[str], targets: Sequence[str]) -> list[Stretch]:
    """All stretches that are shifted, joined where they follow each other."""
    if len(sources) < WINDOW:
        return []
    source, target = _Lines.of(sources), _Lines.of(targets)
    ratio = float(np.median(target.length - source.length))
    straight = _likeness(source, target, ratio)
    found: list[Stretch] = []
    better = {shift: _likeness(source, target.moved(shift), ratio) - straight for shift in SHIFTS}
    for first in range(0, len(sources) - WINDOW + 1, WINDOW):
        window = slice(first, first + WINDOW)
        gains = {shift: _significance(gain[window]) for shift, gain in better.items()}
        shift = max(gains, key=lambda one: gains[one])
        if gains[shift] < CLEARLY:
            continue
        last = found[-1] if found else None
        if last is not None and last.shift == shift and last.last == first - 1:
            found[-1] = Stretch(last.first, first + WINDOW - 1, shift)
        else:
            found.append(Stretch(first, first + WINDOW - 1, shift))
    return found


def _significance(gain: NDArray[np.float32]) -> float:
    """How many standard errors the mean gain is above zero."""
    return float(gain.mean() / (gain.std() / len(gain) ** 0.5 + 1e-6))


@dataclass(frozen=True)
class _Lines:
    """What is compared of one side, an entry for each line."""

    length: NDArray[np.float32]  # logarithm
    numbers: NDArray[np.int64]  # a hash; 0: none
    mark: NDArray[np.int64]
    words: NDArray[np.uint64]  # a bit for each word

    @classmethod
    def of(cls, lines: Sequence[str]) -> _Lines:
        """Look at every line once."""
        length = np.log(np.array([len(line) for line in lines], dtype=np.float32) + 10)
        numbers = np.array([_hash(_NUMBER.findall(line)) for line in lines], dtype=np.int64)
        mark = np.array([_MARKS.find(line.rstrip("\"'»” ")[-1:] or " ") for line in lines], dtype=np.int64)
        words = np.array([_bits(_WORD.findall(line.casefold())) for line in lines], dtype=np.uint64)
        return cls(length, numbers, mark, words)

    def moved(self, shift: int) -> _Lines:
        """Every line replaced by the one `shift` lines after it; at the ends, by itself."""
        places = np.arange(len(self.length)) + shift
        places = np.where((places < 0) | (places >= len(self.length)), np.arange(len(self.length)), places)
        return _Lines(self.length[places], self.numbers[places], self.mark[places], self.words[places])


def _likeness(source: _Lines, target: _Lines, ratio: float) -> NDArray[np.float32]:
    has_numbers = (source.numbers != 0) | (target.numbers != 0)
    numbers = np.where(has_numbers, np.where(source.numbers == target.numbers, 1.0, -1.0), 0.0)
    mark = np.where(source.mark == target.mark, 0.5, -0.5)
    common = (source.words & target.words).view(np.uint8).reshape(-1, 8)
    words = np.minimum(_ONES[common].sum(1), 3) * 0.5
    length = -np.abs(target.length - source.length - ratio)
    found: NDArray[Any] = (numbers + mark + words + 2 * length).astype(np.float32)
    return found


def _hash(numbers: Sequence[str]) -> int:
    return crc32(" ".join(sorted(numbers)).encode("utf-8")) if numbers else 0


def _bits(words: Sequence[str]) -> int:
    bits = 0
    for word in words:
        bits |= 1 << (crc32(word.encode("utf-8", "replace")) % 64)
    return bits
