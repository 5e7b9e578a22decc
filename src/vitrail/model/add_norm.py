"""What surrounds every sub-layer: the residual connection, dropout and layer norm. Sections 3.1 and 5.4 of the paper.

Post-norm is the paper's: `norm(x + sublayer(x))`. Pre-norm, which most later models use, is a different network:
`x + sublayer(norm(x))`, with one more norm at the end of each stack. The names of the taps tell them apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.model.taps import NO_TAP, Tap


class AddNorm(nn.Module, ABC):
    """A residual connection and a layer norm around a sub-layer."""

    normalises_its_sum: bool

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = layer_norm(config)
        self.dropout = nn.Dropout(config.dropout)  # on the sub-layer's output, before it is added (section 5.4)

    @abstractmethod
    def forward(self, x_BTD: Tensor, sublayer: Callable[[Tensor], Tensor], *, tap: Tap = NO_TAP) -> Tensor:
        """Send `x` through the sub-layer and around it."""


class PostNorm(AddNorm):
    """The paper's order. Taps: `sum` (x + sublayer(x)), `output` (its norm)."""

    normalises_its_sum = True

    def forward(self, x_BTD: Tensor, sublayer: Callable[[Tensor], Tensor], *, tap: Tap = NO_TAP) -> Tensor:
        """Add, then norm."""
        sum_BTD = tap("sum", x_BTD + self.dropout(sublayer(x_BTD)))
        return tap("output", self.norm(sum_BTD))


class PreNorm(AddNorm):
    """Not the paper's order. Taps: `normed` (the sub-layer's input), `sum`, `output` (the sum again)."""

    normalises_its_sum = False

    def forward(self, x_BTD: Tensor, sublayer: Callable[[Tensor], Tensor], *, tap: Tap = NO_TAP) -> Tensor:
        """Norm, then add."""
        normed_BTD = tap("normed", self.norm(x_BTD))
        sum_BTD = tap("sum", x_BTD + self.dropout(sublayer(normed_BTD)))
        return tap("output", sum_BTD)


ORDERS: dict[str, type[AddNorm]] = {"post": PostNorm, "pre": PreNorm}


def build_add_norm(config: ModelConfig) -> AddNorm:
    """The order that the settings ask for."""
    return ORDERS[config.norm](config)


def build_final_norm(config: ModelConfig) -> nn.Module:
    """The norm at the end of a stack, if its sum is not normalised yet."""
    return nn.Identity() if ORDERS[config.norm].normalises_its_sum else layer_norm(config)


def layer_norm(config: ModelConfig) -> nn.LayerNorm:
    """A new layer norm. In a model without biases it has none either."""
    return nn.LayerNorm(config.d_model, bias=config.bias)
