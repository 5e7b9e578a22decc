"""What the next id of a text looks at: the mean weights of some heads. Dimension key: vitrail/model/__init__.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from vitrail.errors import DecodeError

# source_BS, target_NT, and the source of each target (None: one for each) to weights_NHTS of every decoder layer
Look = Callable[[Tensor, Tensor, Tensor | None], list[Tensor]]
MeanLook = Callable[[Tensor, Tensor, Tensor | None], Tensor]  # the same to weights_NTS, the mean over some heads
ALL = "all"


def mean_look(looks: Sequence[Look], heads: str) -> MeanLook:
    """The mean over the chosen heads of all models."""

    def look(source_BS: Tensor, target_NT: Tensor, sentence_N: Tensor | None) -> Tensor:
        return torch.stack([mean_of(one(source_BS, target_NT, sentence_N), heads) for one in looks]).mean(0).cpu()

    return look


def mean_of(layers: Sequence[Tensor], heads: str) -> Tensor:
    """weights_BTS: the mean over the chosen heads. "all", or numbers of layers and heads: "1" or "0.3,1.2"."""
    if heads == ALL:
        return torch.cat(tuple(layers), dim=1).mean(1)
    chosen: list[Tensor] = []
    for name in heads.split(","):
        layer, _, head = name.partition(".")
        if int(layer) >= len(layers) or (head and int(head) >= layers[0].size(1)):
            raise DecodeError(
                f"this model has no head '{name}'",
                where="the search settings (alignment_heads)",
                fix=f"its decoder has the layers 0 to {len(layers) - 1} with the heads 0 to {layers[0].size(1) - 1}: "
                f"0 is a layer, 0.{layers[0].size(1) - 1} a head",
            )
        weights_BHTS = layers[int(layer)]
        chosen.append(weights_BHTS[:, [int(head)]] if head else weights_BHTS)
    return torch.cat(chosen, dim=1).mean(1)
