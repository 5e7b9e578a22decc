"""The best of many predictions, ties included: the lower id first. Dimension key: vitrail/model/__init__.py."""

from __future__ import annotations

from math import inf

import torch
from torch import Tensor

_BLOCK = 128  # predictions of which only the largest is looked at, at first
_FEW = 8  # hypotheses for which looking at blocks does not pay


def best_of(log_probs_NV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest log-probabilities of every row and their ids, best first, on the CPU; ties go to the lower id.

    `topk` does not define the order of ties. They are rare: if there are any (one extra value reveals a tie at the
    edge), everything is sorted instead.
    """
    rows, vocabulary = log_probs_NV.shape
    wanted = min(count + 1, vocabulary)
    pays = rows >= _FEW and wanted * _BLOCK * 2 < vocabulary and log_probs_NV.device.type == "cpu"
    values, ids = _by_blocks(log_probs_NV, wanted) if pays else log_probs_NV.topk(wanted)
    if ((values[:, 1:] == values[:, :-1]) & (values[:, 1:] > -inf)).any():
        values, ids = log_probs_NV.sort(dim=1, descending=True, stable=True)
    return values[:, :count].cpu(), ids[:, :count].cpu()


def _by_blocks(x_NV: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """As `topk`. The best `count` values are in the `count` blocks with the largest maxima, or behind the blocks."""
    blocks = x_NV.size(1) // _BLOCK
    behind = blocks * _BLOCK
    by_block = x_NV[:, :behind].unflatten(1, (blocks, _BLOCK))
    chosen_NC = by_block.amax(2).topk(count, sorted=False).indices
    candidates = by_block.gather(1, chosen_NC[:, :, None].expand(-1, -1, _BLOCK)).flatten(1)
    values_NC, places_NC = torch.cat([candidates, x_NV[:, behind:]], dim=1).topk(count)
    in_blocks = chosen_NC.gather(1, (places_NC // _BLOCK).clamp_(max=count - 1)) * _BLOCK + places_NC % _BLOCK
    ids_NC = torch.where(places_NC < count * _BLOCK, in_blocks, places_NC + behind - count * _BLOCK)
    return values_NC, ids_NC
