"""A linear layer as this model starts it: Xavier-uniform weights and biases of zero."""

from __future__ import annotations

from torch import nn


def linear(width_in: int, width_out: int, *, bias: bool) -> nn.Linear:
    """A new linear layer."""
    layer = nn.Linear(width_in, width_out, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer
