"""The most probable ids after a given beginning of a translation, without a search."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import torch

from vitrail.decode.batching import BATCH_TOKENS, Report, in_batches
from vitrail.decode.request import rectangle, refuse_broken
from vitrail.decode.step import ForcedModel
from vitrail.decode.top import best_of
from vitrail.decode.workers import Workers
from vitrail.text.special import BOS, PAD


class Likely(NamedTuple):
    """An id that may come next."""

    token_id: int
    log_prob: float


def likely_next(
    model: ForcedModel,
    sources: Sequence[Sequence[int]],
    beginnings: Sequence[Sequence[int]],
    count: int,
    *,
    forbidden: Sequence[int] = (),
    batch_tokens: int = BATCH_TOKENS,
    workers: Workers | None = None,
    report: Report | None = None,
) -> list[list[Likely]]:
    """The `count` most probable ids after each beginning, best first; EOS is one of them if the text may end there."""

    def predict(chosen: list[int]) -> list[list[Likely]]:
        source_BS = rectangle([sources[index] for index in chosen], fill=PAD)
        inputs = [(BOS, *beginnings[index]) for index in chosen]
        last_B = torch.tensor([len(row) - 1 for row in inputs])
        with torch.inference_mode():
            log_probs_BTV = model.log_probs(source_BS, rectangle(inputs, fill=PAD))
            log_probs_BV = log_probs_BTV[torch.arange(len(chosen)), last_B.to(log_probs_BTV.device)]
            log_probs_BV = log_probs_BV.index_fill(1, torch.tensor(forbidden, dtype=torch.long), -inf)
            values_B1C, ids_B1C = best_of(log_probs_BV[:, None], min(count, log_probs_BV.size(1)))
        refuse_broken(values_B1C[..., 0])
        pairs = zip(ids_B1C[:, 0].tolist(), values_B1C[:, 0].tolist(), strict=True)
        return [[Likely(*one) for one in zip(*pair, strict=True) if one[1] > -inf] for pair in pairs]

    lengths = [max(len(source), len(row) + 1) for source, row in zip(sources, beginnings, strict=True)]
    return in_batches(predict, lengths, batch_tokens, what="predict", workers=workers, report=report)
