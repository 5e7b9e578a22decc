"""Rotary positions (Su et al. 2021, "RoFormer"): queries and keys are turned by an angle that grows with position.

Two vectors turned by angles a and b meet as if only one had been turned, by a - b: a score knows only the distance.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from vitrail.model.attention import DotProduct
from vitrail.model.sinusoids import GrowingTable, angles
from vitrail.model.taps import Tap


class RotaryDotProduct(DotProduct):
    """Scaled dot-product attention between turned queries and turned keys; values are left alone."""

    def __init__(self, d_k: int, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        self._turns = GrowingTable(partial(_turns, d_k))

    def place(self, vectors: Tensor, *, first: int, tap: Tap, name: str) -> Tensor:
        """Turn every vector by its position's angles."""
        cos, sin = self._turns.rows(first, vectors.size(2), like=vectors).chunk(2, dim=-1)
        # Number i is turned with number i + d_k/2. The paper pairs neighbours: the same up to the order of W^Q's and
        # W^K's columns, which are learned, and halves are read without strides.
        left, right = vectors.chunk(2, dim=-1)
        return tap(name, torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1))


def _turns(d_k: int, positions: int) -> Tensor:
    angle = angles(positions, d_k // 2, d_k / 2)
    return torch.cat([angle.cos(), angle.sin()], dim=-1)
