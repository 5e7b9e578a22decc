"""What each id of a translation looked at: the mean weights of some heads, in a pass over the finished translation.

Dimension key: vitrail/model/__init__.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from vitrail.decode.batching import BATCH_TOKENS, in_batches
from vitrail.decode.look import Look, mean_look
from vitrail.decode.request import rectangle
from vitrail.decode.workers import Workers
from vitrail.text.special import BOS, PAD


def attention_all(
    looks: Sequence[Look],
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    heads: str,
    *,
    batch_tokens: int = BATCH_TOKENS,
    workers: Workers | None = None,
) -> list[Tensor]:
    """For each pair, weights_TS: how much the prediction of each id of the target row looked at each source position.

    `heads` chooses the heads to average over, as in the settings; several models, an ensemble, are averaged too.
    """

    def look(chosen: list[int]) -> list[Tensor]:
        source_BS = rectangle([sources[index] for index in chosen], fill=PAD)
        input_BT = rectangle([(BOS, *targets[index][:-1]) for index in chosen], fill=PAD)
        with torch.inference_mode():
            weights_BTS = mean_look(looks, heads)(source_BS, input_BT, None)
        return [weights_BTS[place, : len(targets[index]), : len(sources[index])] for place, index in enumerate(chosen)]

    lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    return in_batches(look, lengths, batch_tokens, what="look", workers=workers)
