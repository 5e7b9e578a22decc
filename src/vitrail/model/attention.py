"""Attention: sections 3.2.1 and 3.2.2 of the paper. Dimension key: vitrail/model/__init__.py."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch.nn.functional as F
from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.model.linear import linear
from vitrail.model.taps import NO_TAP, Tap


@dataclass(frozen=True)
class KeysValues:
    """What queries look at: the keys and values of every position, one set for each kv head."""

    k_BGSK: Tensor
    v_BGSK: Tensor


class DotProduct(nn.Module):
    """Scaled dot-product attention: equation (1) of section 3.2.1. Other kinds of attention derive from it.

    The paper has no dropout here. With `dropout`, a query misses some of the keys it would look at during training.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    @property
    def drops(self) -> bool:
        """Whether weights are dropped now, which takes the path step by step."""
        return self.training and self.dropout.p > 0

    def place(self, vectors: Tensor, *, first: int, tap: Tap, name: str) -> Tensor:
        """Prepare queries or keys, `first` being the position of the first one. Plain attention leaves them alone."""
        return vectors

    def forward(self, q_BHTK: Tensor, seen: KeysValues, visible_B1TS: Tensor | None, *, tap: Tap = NO_TAP) -> Tensor:
        """Mix, for every query, the values of the keys it finds relevant. `visible` is True where it may look."""
        if not tap.active and not self.drops:
            return fused(q_BHTK, seen, visible_B1TS)

        # Equation (1) step by step, as the post draws it. Tests hold it equal to torch's fused kernel.
        k_BHSK, v_BHSK = one_per_head(seen.k_BGSK, q_BHTK), one_per_head(seen.v_BGSK, q_BHTK)
        scores_BHTS = tap("scores", q_BHTK @ k_BHSK.mT)
        scaled_BHTS = scores_BHTS / q_BHTK.size(-1) ** 0.5
        weights_BHTS = weigh(scaled_BHTS, visible_B1TS, tap=tap)
        return tap("z", self.dropout(weights_BHTS) @ v_BHSK)


def fused(q_BHTK: Tensor, seen: KeysValues, attn_mask: Tensor | None) -> Tensor:
    """Equation (1) in one of torch's kernels. A floating-point mask is added to the scaled scores."""
    grouped = seen.k_BGSK.size(1) != q_BHTK.size(1)
    return F.scaled_dot_product_attention(q_BHTK, seen.k_BGSK, seen.v_BGSK, attn_mask, enable_gqa=grouped)


def one_per_head(x_BGSK: Tensor, q_BHTK: Tensor) -> Tensor:
    """The keys or values of the kv heads, repeated for every head that shares them."""
    shared_by = q_BHTK.size(1) // x_BGSK.size(1)
    return x_BGSK if shared_by == 1 else x_BGSK.repeat_interleave(shared_by, dim=1)


def weigh(scaled_BHTS: Tensor, visible_B1TS: Tensor | None, *, tap: Tap) -> Tensor:
    """Turn scaled scores into weights: hide what a query may not see, then softmax."""
    if visible_B1TS is None:
        return tap("weights", tap("scaled", scaled_BHTS).softmax(-1))
    scaled_BHTS = tap("scaled", scaled_BHTS.masked_fill(~visible_B1TS, -inf))
    # A query that sees nothing gets weights of zero. Any other NaN is a fault and must stay visible.
    sees_nothing_B1T1 = ~visible_B1TS.any(-1, keepdim=True)
    return tap("weights", scaled_BHTS.softmax(-1).masked_fill(sees_nothing_B1T1, 0.0))


class MultiHeadAttention(nn.Module):
    """Several attentions side by side (section 3.2.2). With fewer kv heads than heads, some heads share them."""

    def __init__(self, config: ModelConfig, dot_product: DotProduct) -> None:
        super().__init__()
        self.d_k = config.d_k
        width, kv_width = config.heads * config.d_k, config.kv_heads * config.d_k
        self.query = linear(config.d_model, width, bias=config.bias)
        self.key = linear(config.d_model, kv_width, bias=config.bias)
        self.value = linear(config.d_model, kv_width, bias=config.bias)
        self.output = linear(width, config.d_model, bias=config.bias)
        self.dot_product = dot_product

    def forward(self, x_BTD: Tensor, seen_BSD: Tensor, visible_B1TS: Tensor | None, *, tap: Tap = NO_TAP) -> Tensor:
        """What every position of `x` gathers from the positions of `seen`."""
        q_BHTK, seen = self.queries(x_BTD, tap=tap), self.keys_values(seen_BSD, tap=tap)
        return self.gather(q_BHTK, seen, visible_B1TS, tap=tap)

    def queries(self, x_BTD: Tensor, *, first: int = 0, tap: Tap = NO_TAP) -> Tensor:
        """The queries of the positions from `first` on."""
        q_BHTK = tap("q", self.split_heads(self.query(x_BTD)))
        return self.dot_product.place(q_BHTK, first=first, tap=tap, name="q_rotated")

    def keys_values(self, x_BSD: Tensor, *, first: int = 0, tap: Tap = NO_TAP) -> KeysValues:
        """The keys and values of the positions from `first` on."""
        k_BGSK = tap("k", self.split_heads(self.key(x_BSD)))
        v_BGSK = tap("v", self.split_heads(self.value(x_BSD)))
        return KeysValues(self.dot_product.place(k_BGSK, first=first, tap=tap, name="k_rotated"), v_BGSK)

    def gather(self, q_BHTK: Tensor, seen: KeysValues, visible_B1TS: Tensor | None, *, tap: Tap = NO_TAP) -> Tensor:
        """Let every head attend, join what the heads found, and mix it through W^O."""
        z_BHTK = self.dot_product(q_BHTK, seen, visible_B1TS, tap=tap)
        return tap("output", self.output(self.join_heads(z_BHTK)))

    def split_heads(self, x: Tensor) -> Tensor:
        """A row of heads for every position, as heads of positions: (B, T, H · K) to (B, H, T, K)."""
        return x.view(*x.shape[:2], -1, self.d_k).transpose(1, 2)

    def join_heads(self, z_BHTK: Tensor) -> Tensor:
        """The other way round."""
        return z_BHTK.transpose(1, 2).flatten(2)
