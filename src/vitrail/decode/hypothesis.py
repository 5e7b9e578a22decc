"""A translation as ids, and how it is scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Self

from vitrail.config import DecodeConfig
from vitrail.text.special import EOS


@dataclass(frozen=True)
class Hypothesis:
    """A translation: its ids, the log-probability of each, and its score."""

    ids: tuple[int, ...]  # without EOS
    log_probs: tuple[float, ...]  # one for each generated id, EOS included; none if the engine only gives the score
    score: float
    finished: bool  # False: cut at the length limit, without EOS
    coverage: float = 0.0  # the coverage penalty, a part of the score

    @classmethod
    def from_row(cls, row: Sequence[int], log_probs: Sequence[float], config: DecodeConfig) -> Self:
        """A hypothesis from a target row: its ids, with EOS at the end if it is finished."""
        finished = bool(row) and row[-1] == EOS
        return cls(
            ids=tuple(row[:-1] if finished else row),
            log_probs=tuple(log_probs),
            score=fsum(log_probs) / length_penalty(len(row), config),
            finished=finished,
        )

    @classmethod
    def with_score(cls, row: Sequence[int], score: float) -> Self:
        """A hypothesis of which only the score is known."""
        finished = bool(row) and row[-1] == EOS
        return cls(tuple(row[:-1] if finished else row), (), score, finished)

    def mean_log_prob(self, config: DecodeConfig) -> float:
        """The mean log-probability of the generated ids, from the score and the settings that it was made with."""
        length = len(self.row)
        return (self.score - self.coverage) * length_penalty(length, config) / max(length, 1)

    @property
    def row(self) -> tuple[int, ...]:
        """All generated ids, with EOS if it is finished."""
        return (*self.ids, EOS) if self.finished else self.ids


def length_limit(source: Sequence[int], max_extra: int, max_positions: int | None) -> int:
    """The most ids to generate for a source row, EOS included.

    One limit per sentence: with one per batch, a long neighbour could change a translation.
    """
    limit = len(source) + max_extra
    return limit if max_positions is None else min(limit, max_positions)


def length_penalty(length: int, config: DecodeConfig) -> float:
    """The divisor for a sum of log-probabilities; `length` counts every generated id, EOS included."""
    if config.penalty == "gnmt":
        return float(((5 + length) / 6) ** config.alpha)  # Wu et al. 2016, equation (14); the paper's section 6.1
    return float(max(length, 1) ** config.alpha)


def ranked(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Best score first; ties keep the order of completion."""
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
