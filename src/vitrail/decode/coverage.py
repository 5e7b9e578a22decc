"""The coverage penalty: translations that leave a part of their source unread score lower.

Wu et al. 2016, "Google's Neural Machine Translation System", equation (14).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode.hypothesis import Hypothesis, ranked

_LEAST = 1e-9  # as much attention counts as none: the logarithm must be a number


def covered(weights_TS: Tensor, is_text: Sequence[bool]) -> float:
    """The sum over the source's text of log(min(attention, 1)): 0 if all of it was read, else negative."""
    read = weights_TS.double().sum(0)[[place for place, one in enumerate(is_text) if one]]
    return float(read.clamp(_LEAST, 1).log().sum())


def with_coverage(hypotheses: Sequence[Hypothesis], sums: Sequence[float], config: DecodeConfig) -> list[Hypothesis]:
    """The hypotheses of one sentence with the penalty in their scores, best first, at most `top_beams`."""
    scored = [
        replace(hypothesis, score=hypothesis.score + config.coverage * one, coverage=config.coverage * one)
        for hypothesis, one in zip(hypotheses, sums, strict=True)
    ]
    return ranked(scored)[: config.top_beams]
