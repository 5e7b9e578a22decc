"""ALiBi (Press et al. 2022, "Train Short, Test Long"): the farther away a key is, the lower its score.

Each head lowers scores at its own rate. The rates are fixed, so there is nothing to learn and no longest distance.
"""

from __future__ import annotations

from math import inf

import torch
from torch import Tensor

from vitrail.config import ModelConfig
from vitrail.model.attention import DotProduct, KeysValues, fused, one_per_head, weigh
from vitrail.model.taps import NO_TAP, Tap


class AlibiDotProduct(DotProduct):
    """Scaled dot-product attention with a bias for distances. The queries are the last of the keys' positions."""

    def __init__(self, heads: int, dropout: float = 0.0) -> None:
        super().__init__(dropout)
        self._slopes = slopes(heads)

    @classmethod
    def of(cls, config: ModelConfig) -> AlibiDotProduct:
        """Build it from the settings."""
        return cls(config.heads, config.attention_dropout)

    def forward(self, q_BHTK: Tensor, seen: KeysValues, visible_B1TS: Tensor | None, *, tap: Tap = NO_TAP) -> Tensor:
        """Attend by content, and less to what is far away."""
        bias_1HTS = self._bias(q_BHTK.size(2), seen.k_BGSK.size(2), like=q_BHTK)
        if not tap.active and not self.drops:
            bias_BHTS = bias_1HTS if visible_B1TS is None else bias_1HTS.masked_fill(~visible_B1TS, -inf)
            return fused(q_BHTK, seen, bias_BHTS)

        # Section 3 of Press et al., step by step. The bias is not divided by √d_k.
        k_BHSK, v_BHSK = one_per_head(seen.k_BGSK, q_BHTK), one_per_head(seen.v_BGSK, q_BHTK)
        scores_BHTS = tap("scores", q_BHTK @ k_BHSK.mT)
        bias_1HTS = tap("distance_bias", bias_1HTS)
        scaled_BHTS = scores_BHTS / q_BHTK.size(-1) ** 0.5 + bias_1HTS
        weights_BHTS = weigh(scaled_BHTS, visible_B1TS, tap=tap)
        return tap("z", self.dropout(weights_BHTS) @ v_BHSK)

    def _bias(self, queries: int, keys: int, *, like: Tensor) -> Tensor:
        """Minus slope × distance, for every head, query and key."""
        position_S = torch.arange(keys, device=like.device)
        # The paper's model only looks back. Our encoder also looks ahead: there, both directions count alike.
        distance_TS = (position_S - position_S[keys - queries :, None]).abs()
        slope_1H11 = like.new_tensor(self._slopes)[None, :, None, None]
        return -slope_1H11 * distance_TS


def slopes(heads: int) -> list[float]:
    """How fast the scores of each head fall: 2^(-8/H), 2^(-16/H), … 2^-8.

    That is for a power of two. For other numbers the paper's code takes the slopes of the next smaller power of two,
    then the first, third, fifth … of twice that power.
    """
    power = 1 << (heads.bit_length() - 1)
    whole = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    return whole + [2.0 ** (-8 * (h + 0.5) / power) for h in range(heads - power)]
