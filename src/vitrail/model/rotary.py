"""Rotary positions (Su et al. 2021, "RoFormer"): queries and keys are rotated by an angle that grows with position.

Two vectors rotated by angles a and b have the dot product of one rotated by a - b: a score depends on distance alone.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from vitrail.config import ModelConfig
from vitrail.model.attention import DotProduct
from vitrail.model.sinusoids import GrowingTable, angles
from vitrail.model.taps import Tap


class RotaryDotProduct(DotProduct):
    """Scaled dot-product attention between rotated queries and rotated keys. Values are not rotated."""

    def __init__(self, d_k: int, dropout: float) -> None:
        super().__init__(dropout)
        self._rotations = GrowingTable(partial(_rotations, d_k))

    @classmethod
    def of(cls, config: ModelConfig) -> RotaryDotProduct:
        """Build it from the settings."""
        return cls(config.d_k, config.attention_dropout)

    def place(self, vectors: Tensor, *, first: int, tap: Tap, name: str) -> Tensor:
        """Rotate every vector by its position's angles."""
        cos, sin = self._rotations.rows(first, vectors.size(2), like=vectors).chunk(2, dim=-1)
        # Number i is paired with number i + d_k/2. The paper pairs neighbours, which is the same up to the order of the
        # columns of W^Q and W^K. These are learned, and halves are read without strides.
        left, right = vectors.chunk(2, dim=-1)
        return tap(name, torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1))


def _rotations(d_k: int, positions: int) -> Tensor:
    angle = angles(positions, d_k // 2, d_k / 2)
    return torch.cat([angle.cos(), angle.sin()], dim=-1)
