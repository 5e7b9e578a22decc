"""What stands around every sub-layer: the way past it, dropout, and the layer norm. Sections 3.1 and 5.4 of the paper.

Post-norm is the paper's: `norm(x + sublayer(x))`. Pre-norm, which most later models use, is another network:
`x + sublayer(norm(x))`, with one more norm where each stack ends. Each says what it is in the names of its taps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.model.dropout import Dropout
from vitrail.model.taps import NO_TAP, Tap


class AddNorm(nn.Module, ABC):
    """A residual connection and a layer norm around a sub-layer."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = layer_norm(config)
        self.dropout = Dropout(config.dropout)  # on the sub-layer's output, before it is added (section 5.4)

    @abstractmethod
    def forward(self, x_BTD: Tensor, sublayer: Callable[[Tensor], Tensor], *, tap: Tap = NO_TAP) -> Tensor:
        """Lead `x` through the sub-layer and past it."""


class PostNorm(AddNorm):
    """The paper's order. Taps: `sum` (x + sublayer(x)), `output` (its norm)."""

    def forward(self, x_BTD: Tensor, sublayer: Callable[[Tensor], Tensor], *, tap: Tap = NO_TAP) -> Tensor:
        """Add, then norm."""
        sum_BTD = tap("sum", x_BTD + self.dropout(sublayer(x_BTD)))
        return tap("output", self.norm(sum_BTD))


class PreNorm(AddNorm):
    """Not the paper's order. Taps: `normed` (sublayer gets it), `sum` (x + sublayer(normed)), `output` (the sum)."""

    def forward(self, x_BTD: Tensor, sublayer: Callable[[Tensor], Tensor], *, tap: Tap = NO_TAP) -> Tensor:
        """Norm, then add."""
        normed_BTD = tap("normed", self.norm(x_BTD))
        sum_BTD = tap("sum", x_BTD + self.dropout(sublayer(normed_BTD)))
        return tap("output", sum_BTD)


def build_add_norm(config: ModelConfig) -> AddNorm:
    """The order that the settings ask for."""
    return PreNorm(config) if config.norm == "pre" else PostNorm(config)


def build_final_norm(config: ModelConfig) -> nn.Module:
    """What ends a stack: pre-norm leaves its sum un-normed until here, post-norm has nothing left to do."""
    return layer_norm(config) if config.norm == "pre" else nn.Identity()


def layer_norm(config: ModelConfig) -> nn.LayerNorm:
    """A new layer norm; without biases it has none either."""
    return nn.LayerNorm(config.d_model, bias=config.bias)
