"""A linear layer as every one of this model's begins: Xavier-uniform weights, biases of zero."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def linear(width_in: int, width_out: int, *, bias: bool) -> nn.Linear:
    """A new linear layer."""
    layer = nn.Linear(width_in, width_out, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def at_once(x: Tensor, *layers: nn.Linear) -> tuple[Tensor, ...]:
    """What each layer makes of `x`, all in one multiplication: a wide one is faster than several narrow ones."""
    weight = torch.cat([layer.weight for layer in layers])
    biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
    together = F.linear(x, weight, torch.cat(biases) if biases else None)
    return together.split_with_sizes([layer.out_features for layer in layers], dim=-1)
