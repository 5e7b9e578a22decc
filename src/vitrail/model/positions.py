"""Where a word stands: every kind of position, and the part of the model that it belongs to.

Sinusoids and learned positions are vectors that are added to the embeddings (here). The other kinds work inside
self-attention, each in a file of its own, and add nothing to the embeddings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.errors import ConfigError
from vitrail.model.alibi import AlibiDotProduct
from vitrail.model.attention import DotProduct
from vitrail.model.relative import RelativeDotProduct
from vitrail.model.rotary import RotaryDotProduct
from vitrail.model.sinusoids import (
    GrowingTable,
    concatenated_sinusoids,
    halved_sinusoids,
    interleaved_sinusoids,
)
from vitrail.model.taps import NO_TAP, Tap


class Positions(nn.Module):
    """What the embeddings are told about positions. By default nothing: self-attention takes care of it."""

    limit: int | None = None  # the longest sentence, if there is a limit

    def forward(self, x_BTD: Tensor, *, first: int = 0, tap: Tap = NO_TAP) -> Tensor:
        """Tell every vector its position, counted from `first`."""
        return tap("sum", x_BTD)


class AddedPositions(Positions, ABC):
    """A vector for every position, added to the embedding: section 3.5 of the paper."""

    @abstractmethod
    def vectors(self, first: int, count: int, *, like: Tensor) -> Tensor:
        """The vectors of `count` positions from `first` on, in the type and on the device of `like`."""

    def forward(self, x_BTD: Tensor, *, first: int = 0, tap: Tap = NO_TAP) -> Tensor:
        """Add the positions' vectors."""
        position_TD = tap("position", self.vectors(first, x_BTD.size(1), like=x_BTD))
        return tap("sum", x_BTD + position_TD)


class SinusoidalPositions(AddedPositions):
    """A fixed table of sines and cosines."""

    def __init__(self, table_of: Callable[[int, int], Tensor], d_model: int) -> None:
        super().__init__()
        self._table = GrowingTable(partial(table_of, d_model))

    def vectors(self, first: int, count: int, *, like: Tensor) -> Tensor:
        """Rows of the table, which has no end."""
        return self._table.rows(first, count, like=like)


class LearnedPositions(AddedPositions):
    """A table that is trained, and therefore ends somewhere."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        # As large as the embeddings it is added to: next to scaled ones, N(0, 1/d_model) would go unnoticed for long.
        size = 1.0 if config.embedding_scale else config.d_model**-0.5
        self.table = nn.Parameter(torch.randn(config.max_positions, config.d_model) * size)
        self.limit = config.max_positions

    def vectors(self, first: int, count: int, *, like: Tensor) -> Tensor:
        """Rows of the table. A sentence that is longer than the table is refused."""
        needed, known = first + count, len(self.table)
        if needed > known:
            raise ConfigError(
                f"a sentence of {needed} tokens is longer than the {known} positions that this model has learned",
                where="[model] max_positions",
                fix=f"shorten the sentence, or train with max_positions = {needed} or with another kind of positions",
            )
        return self.table[first:needed]


@dataclass(frozen=True)
class Kind:
    """How a kind of position is built: what it adds to the embeddings, and how its self-attention compares words."""

    positions: Callable[[ModelConfig], Positions] = lambda _: Positions()
    dot_product: Callable[[ModelConfig], DotProduct] = lambda config: DotProduct(config.attention_dropout)


# What each kind can do and cannot go with: config/positions.py. A test holds the two lists equal.
KINDS = {
    "sinusoidal": Kind(positions=lambda config: SinusoidalPositions(interleaved_sinusoids, config.d_model)),
    "sinusoidal-concat": Kind(positions=lambda config: SinusoidalPositions(concatenated_sinusoids, config.d_model)),
    "sinusoidal-halves": Kind(positions=lambda config: SinusoidalPositions(halved_sinusoids, config.d_model)),
    "learned": Kind(positions=LearnedPositions),
    "relative": Kind(dot_product=RelativeDotProduct.of),
    "rope": Kind(dot_product=RotaryDotProduct.of),
    "alibi": Kind(dot_product=AlibiDotProduct.of),
}


def build_positions(config: ModelConfig) -> Positions:
    """What the settings add to the embeddings of one side."""
    return KINDS[config.positions].positions(config)


def build_dot_product(config: ModelConfig) -> DotProduct:
    """How the settings compare queries with keys in self-attention."""
    return KINDS[config.positions].dot_product(config)
