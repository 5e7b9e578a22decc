"""Relative positions (Shaw et al. 2018): what a query makes of a key depends also on how far apart they are.

Each distance from -max_distance to max_distance has a vector that is added to the key and one that is added to the
value; longer distances count as the longest. Each layer has its own two tables, which its heads share.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vitrail.model.attention import DotProduct, KeysValues, Visible, one_for_each_head, weigh
from vitrail.model.packed import Sight
from vitrail.model.taps import NO_TAP, Tap


class RelativeDotProduct(DotProduct):
    """Scaled dot-product attention with vectors for distances. The queries are the last of the keys' positions."""

    def __init__(self, d_k: int, max_distance: int, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        self.max_distance = max_distance
        self.key_RK = nn.Parameter(nn.init.xavier_uniform_(torch.empty(2 * max_distance + 1, d_k)))
        self.value_RK = nn.Parameter(nn.init.xavier_uniform_(torch.empty(2 * max_distance + 1, d_k)))

    def forward(self, q_BHTK: Tensor, seen: KeysValues, visible: Visible, *, tap: Tap = NO_TAP) -> Tensor:
        """Attend by content and by distance. No fused kernel adds to values, so there is only this path."""
        assert not isinstance(visible, Sight), "packed sentences are for attention that only looks"
        k_BHSK, v_BHSK = one_for_each_head(seen.k_BGSK, q_BHTK), one_for_each_head(seen.v_BGSK, q_BHTK)
        # Equation (5) of Shaw et al.: q·(k + a) as q·k + q·a, so that no key is copied for each of its distances.
        content_BHTS = tap("scores_content", q_BHTK @ k_BHSK.mT)
        distance_BHTS = self._distances(q_BHTK.size(2), k_BHSK.size(2), like=content_BHTS)
        by_distance_BHTR = q_BHTK @ self.key_RK.mT
        position_BHTS = tap("scores_position", by_distance_BHTR.gather(-1, distance_BHTS))
        scores_BHTS = tap("scores", content_BHTS + position_BHTS)
        weights_BHTS = self.dropout(weigh(scores_BHTS, q_BHTK.size(-1), visible, tap=tap))

        # Equation (3), the same way round: first how much weight each distance got, then its vector.
        weight_BHTR = torch.zeros_like(by_distance_BHTR).scatter_add(-1, distance_BHTS, weights_BHTS)
        z_content_BHTK = tap("z_content", weights_BHTS @ v_BHSK)
        z_position_BHTK = tap("z_position", weight_BHTR @ self.value_RK)
        return tap("z", z_content_BHTK + z_position_BHTK)

    def _distances(self, queries: int, keys: int, *, like: Tensor) -> Tensor:
        """The table row of every query and key: how far the key stands after the query, clipped, from 0 on."""
        position_S = torch.arange(keys, device=like.device)
        distance_TS = position_S - position_S[keys - queries :, None]
        row_TS = distance_TS.clamp(-self.max_distance, self.max_distance) + self.max_distance
        return row_TS.expand_as(like)
