"""Where a word stands: the six kinds of positions, and the part of the model that each belongs to.

Sinusoids and learned positions are added to the embeddings (here). Rotations and relative positions live inside
self-attention (rotary.py, relative.py), and nothing is added to the embeddings.
"""

from __future__ import annotations

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.errors import ConfigError
from vitrail.model.attention import DotProduct
from vitrail.model.relative import RelativeDotProduct
from vitrail.model.rotary import RotaryDotProduct
from vitrail.model.sinusoids import (
    GrowingTable,
    TableOf,
    concatenated_sinusoids,
    halved_sinusoids,
    interleaved_sinusoids,
)
from vitrail.model.taps import NO_TAP, Tap


class Positions(nn.Module):
    """What is added to embeddings to say where they stand; in itself, nothing."""

    def forward(self, x_BTD: Tensor, *, first: int = 0, position_T: Tensor | None = None, tap: Tap = NO_TAP) -> Tensor:
        """Tell every vector its position: from `first` on, or where each stands in packed sentences."""
        return tap("sum", x_BTD)


class SinusoidalPositions(Positions):
    """A fixed table of sines and cosines."""

    def __init__(self, table_of: TableOf) -> None:
        super().__init__()
        self._table = GrowingTable(table_of)

    def forward(self, x_BTD: Tensor, *, first: int = 0, position_T: Tensor | None = None, tap: Tap = NO_TAP) -> Tensor:
        """Add the table's rows."""
        if position_T is None:
            position_TD = self._table.rows(first, x_BTD.size(1), like=x_BTD)
        else:
            position_TD = self._table.rows(0, int(position_T.max()) + 1, like=x_BTD)[position_T]
        return tap("sum", x_BTD + tap("position", position_TD))


class LearnedPositions(Positions):
    """A table that is trained, and so ends somewhere."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        # As large as the embeddings it is added to: beside scaled ones, N(0, 1/d_model) would long go unnoticed.
        size = 1.0 if config.embedding_scale else config.d_model**-0.5
        self.table = nn.Parameter(torch.randn(config.max_positions, config.d_model) * size)

    def forward(self, x_BTD: Tensor, *, first: int = 0, position_T: Tensor | None = None, tap: Tap = NO_TAP) -> Tensor:
        """Add the table's rows; refuse a sentence that goes beyond them."""
        needed = first + x_BTD.size(1) if position_T is None else int(position_T.max()) + 1
        known = len(self.table)
        if needed > known:
            raise ConfigError(
                f"a sentence of {needed} tokens is longer than the {known} positions this model has learned",
                where="[model] max_positions",
                fix=f"shorten the sentence, or train with max_positions = {needed} or with another kind of positions",
            )
        position_TD = self.table[first:needed] if position_T is None else F.embedding(position_T, self.table)
        return tap("sum", x_BTD + tap("position", position_TD))


def build_positions(config: ModelConfig) -> Positions:
    """What the settings add to the embeddings of one side."""
    tables = {
        "sinusoidal": interleaved_sinusoids,
        "sinusoidal-concat": concatenated_sinusoids,
        "sinusoidal-halves": halved_sinusoids,
    }
    if config.positions in tables:
        return SinusoidalPositions(partial(tables[config.positions], config.d_model))
    if config.positions == "learned":
        return LearnedPositions(config)
    return Positions()


def build_dot_product(config: ModelConfig) -> DotProduct:
    """How the settings compare queries with keys in self-attention."""
    if config.positions == "rope":
        return RotaryDotProduct(config.d_k, config.attention_dropout)
    if config.positions == "relative":
        return RelativeDotProduct(config.d_k, config.max_distance, config.attention_dropout)
    return DotProduct(config.attention_dropout)
