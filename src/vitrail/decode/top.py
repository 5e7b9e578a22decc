"""The best of many predictions, the lower id first if they are equal. Dimension key: vitrail/model/__init__.py."""

from __future__ import annotations

from math import inf

import torch
from torch import Tensor

_BLOCK = 128  # predictions of which only the largest is looked at, at first
_FEW = 8  # hypotheses for which looking at blocks does not pay


def best_of(log_probs_BWV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest log-probabilities of each hypothesis and their ids, best first, on the CPU; ties go to the lower id.

    `topk` does not define the order of ties. They are rare: if there are any (one extra value reveals a tie at the
    edge), everything is sorted instead.
    """
    sentences, hypotheses, vocabulary = log_probs_BWV.shape
    log_probs_NV, wanted = log_probs_BWV.flatten(0, 1), min(count + 1, vocabulary)
    pays = log_probs_NV.size(0) >= _FEW and wanted * _BLOCK * 2 < vocabulary and log_probs_NV.device.type == "cpu"
    values_NC, ids_NC = _top_by_blocks(log_probs_NV, wanted) if pays else log_probs_NV.topk(wanted)
    if ((values_NC[:, 1:] == values_NC[:, :-1]) & (values_NC[:, 1:] > -inf)).any():
        values_NC, ids_NC = log_probs_NV.sort(dim=1, descending=True, stable=True)
    shape = (sentences, hypotheses, count)
    return values_NC[:, :count].cpu().reshape(shape), ids_NC[:, :count].cpu().reshape(shape)


def _top_by_blocks(x_NV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """As `topk`. The best `count` values are in the `count` blocks with the largest maxima, or behind the blocks."""
    blocks = x_NV.size(1) // _BLOCK
    behind = blocks * _BLOCK
    by_block = x_NV[:, :behind].view(-1, blocks, _BLOCK)
    chosen_NC = by_block.amax(2).topk(count, sorted=False).indices
    candidates = by_block.gather(1, chosen_NC[:, :, None].expand(-1, -1, _BLOCK)).flatten(1)
    values_NC, places_NC = torch.cat([candidates, x_NV[:, behind:]], dim=1).topk(count)
    in_blocks_NC = chosen_NC.gather(1, (places_NC // _BLOCK).clamp_(max=count - 1)) * _BLOCK + places_NC % _BLOCK
    return values_NC, torch.where(places_NC < count * _BLOCK, in_blocks_NC, places_NC + behind - count * _BLOCK)
