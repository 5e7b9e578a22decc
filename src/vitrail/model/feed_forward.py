"""The feed-forward network that every position goes through on its own: section 3.3 of the paper."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.model.linear import linear
from vitrail.model.taps import NO_TAP, Tap

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}


class FeedForward(nn.Module):
    """Two linear layers with an activation between them. The paper's activation is ReLU."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.inner = linear(config.d_model, config.d_ff, bias=config.bias)
        self.outer = linear(config.d_ff, config.d_model, bias=config.bias)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = nn.Dropout(config.activation_dropout)  # the paper has none here

    def forward(self, x_BTD: Tensor, *, tap: Tap = NO_TAP) -> Tensor:
        """Widen, activate, and narrow again."""
        hidden_BTF = tap("hidden", self.activation(self.inner(x_BTD)))
        return tap("output", self.outer(self.dropout(hidden_BTF)))
