"""Relative positions (Shaw et al. 2018): what a query makes of a key also depends on how far apart they are.

Every distance from -max_distance to max_distance has one vector that is added to the key and one that is added to the
value. Longer distances count as the longest. Each layer has two tables of its own, which its heads share.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.model.attention import DotProduct, KeysValues, one_per_head, weigh
from vitrail.model.taps import NO_TAP, Tap


class RelativeDotProduct(DotProduct):
    """Scaled dot-product attention with vectors for distances. The queries are the last of the keys' positions."""

    def __init__(self, d_k: int, max_distance: int, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        self.max_distance = max_distance
        self.key_RK = nn.Parameter(nn.init.xavier_uniform_(torch.empty(2 * max_distance + 1, d_k)))
        self.value_RK = nn.Parameter(nn.init.xavier_uniform_(torch.empty(2 * max_distance + 1, d_k)))

    @classmethod
    def of(cls, config: ModelConfig) -> RelativeDotProduct:
        """Build it from the settings."""
        return cls(config.d_k, config.max_distance, config.attention_dropout)

    def forward(self, q_BHTK: Tensor, seen: KeysValues, visible_B1TS: Tensor | None, *, tap: Tap = NO_TAP) -> Tensor:
        """Attend by content and by distance. No fused kernel adds to the values, so there is only this path."""
        k_BHSK, v_BHSK = one_per_head(seen.k_BGSK, q_BHTK), one_per_head(seen.v_BGSK, q_BHTK)
        # Equation (5) of Shaw et al.: q·(k + a) as q·k + q·a, so no key is copied for each of its distances.
        content_BHTS = tap("scores_content", q_BHTK @ k_BHSK.mT)
        distance_BHTS = self._distances(q_BHTK.size(2), k_BHSK.size(2), like=content_BHTS)
        by_distance_BHTR = q_BHTK @ self.key_RK.mT
        position_BHTS = tap("scores_position", by_distance_BHTR.gather(-1, distance_BHTS))
        scores_BHTS = tap("scores", content_BHTS + position_BHTS)
        scaled_BHTS = scores_BHTS / q_BHTK.size(-1) ** 0.5
        weights_BHTS = self.dropout(weigh(scaled_BHTS, visible_B1TS, tap=tap))

        # Equation (3), in the same way: first how much weight each distance gets, then its vector.
        weight_BHTR = torch.zeros_like(by_distance_BHTR).scatter_add(-1, distance_BHTS, weights_BHTS)
        z_content_BHTK = tap("z_content", weights_BHTS @ v_BHSK)
        z_position_BHTK = tap("z_position", weight_BHTR @ self.value_RK)
        return tap("z", z_content_BHTK + z_position_BHTK)

    def _distances(self, queries: int, keys: int, *, like: Tensor) -> Tensor:
        """The row of the tables for every query and key: how far the key stands behind the query, clipped, from 0."""
        position_S = torch.arange(keys, device=like.device)
        distance_TS = position_S - position_S[keys - queries :, None]
        row_TS = distance_TS.clamp(-self.max_distance, self.max_distance) + self.max_distance
        return row_TS.expand_as(like)
