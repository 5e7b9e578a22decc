"""Attention: sections 3.2.1 and 3.2.2 of the paper. Dimension key: vitrail/model/__init__.py."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.model.attention_by_numpy import SHORT, VECTOR, attend_by_numpy
from vitrail.model.dropout import Dropout
from vitrail.model.linear import at_once, linear
from vitrail.model.multiply import numpy_is_asked
from vitrail.model.packed import Sight
from vitrail.model.taps import NO_TAP, Tap

# True where a query may look, None for everywhere; any axis may be 1 and broadcast. Packed sentences have no padding to
# hide, and say it otherwise.
Visible = Tensor | Sight | None


@dataclass(frozen=True)
class KeysValues:
    """What queries look at: the keys and values of every position, of each kv head."""

    k_BGSK: Tensor
    v_BGSK: Tensor


class DotProduct(nn.Module):
    """Scaled dot-product attention (section 3.2.1), and what other kinds of it are built on.

    The paper drops nothing here. With `dropout`, a query misses some of the keys it would look at while training.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def place(self, vectors: Tensor, *, first: int, tap: Tap, name: str) -> Tensor:
        """Queries or keys as they meet, `first` being the position of the first: here, just as they are."""
        return vectors

    def forward(self, q_BHTK: Tensor, seen: KeysValues, visible: Visible, *, tap: Tap = NO_TAP) -> Tensor:
        """Mix, for every query, the values of the keys it finds relevant."""
        k_BGSK, v_BGSK = seen.k_BGSK, seen.v_BGSK
        drops = self.training and self.dropout.share > 0
        if not tap.active and not drops:
            return attend(q_BHTK, k_BGSK, v_BGSK, visible)
        assert not isinstance(visible, Sight), "packed sentences are for attention that only looks"

        # Equation (1) step by step, as the post draws it; a test holds both paths equal.
        k_BHSK, v_BHSK = one_for_each_head(k_BGSK, q_BHTK), one_for_each_head(v_BGSK, q_BHTK)
        scores_BHTS = tap("scores", q_BHTK @ k_BHSK.mT)
        weights_BHTS = weigh(scores_BHTS, q_BHTK.size(-1), visible, tap=tap)
        return tap("z", self.dropout(weights_BHTS) @ v_BHSK)


def attend(q_BHTK: Tensor, k_BGSK: Tensor, v_BGSK: Tensor, visible: Visible) -> Tensor:
    """All of equation (1) at once, by whatever is fastest here; tests hold every way equal to the one step by step."""
    on_cpu = q_BHTK.device.type == "cpu"
    if on_cpu and torch.is_autocast_enabled("cpu"):
        # In bf16 the fused kernel's way back takes a CPU seven times as long as in float32.
        with torch.autocast("cpu", enabled=False):
            return attend(q_BHTK.float(), k_BGSK.float(), v_BGSK.float(), visible)
    if isinstance(visible, Sight) or (numpy_is_asked(q_BHTK) and k_BGSK.size(2) <= SHORT):
        k_BHSK, v_BHSK = one_for_each_head(k_BGSK, q_BHTK), one_for_each_head(v_BGSK, q_BHTK)
        return attend_by_numpy(q_BHTK, k_BHSK, v_BHSK, visible)
    if on_cpu and q_BHTK.requires_grad and VECTOR // 2 <= k_BGSK.size(2) < VECTOR:
        k_BHSK, v_BHSK = one_for_each_head(k_BGSK, q_BHTK), one_for_each_head(v_BGSK, q_BHTK)
        return attend_to_few(q_BHTK, k_BHSK, v_BHSK, visible)
    grouped = k_BGSK.size(1) != q_BHTK.size(1)
    return F.scaled_dot_product_attention(q_BHTK, k_BGSK, v_BGSK, attn_mask=visible, enable_gqa=grouped)


def attend_to_few(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, visible_B1TS: Tensor | None) -> Tensor:
    """Fewer keys than a CPU takes at a time: filled up with empty ones, a softmax is ten times as fast.

    Nobody looks at the empty ones, but who sees nothing else: for them it comes to nothing, as it should.
    """
    batch, _, queries, d_k = q_BHTK.shape
    keys = k_BHSK.size(2)
    seen_B1TP = torch.zeros(batch, 1, queries, VECTOR, dtype=torch.bool)
    seen_B1TP[..., :keys] = True if visible_B1TS is None else visible_B1TS
    seen_B1TP[..., -1] = ~seen_B1TP.any(-1)
    empty = (0, 0, 0, VECTOR - keys)
    scaled_BHTP = (q_BHTK * d_k**-0.5) @ F.pad(k_BHSK, empty).mT
    bias_B1TP = torch.zeros(seen_B1TP.shape, dtype=scaled_BHTP.dtype).masked_fill_(~seen_B1TP, -inf)
    z_BHTK: Tensor = (scaled_BHTP + bias_B1TP).softmax(-1) @ F.pad(v_BHSK, empty)
    return z_BHTK


def one_for_each_head(x_BGSK: Tensor, q_BHTK: Tensor) -> Tensor:
    """The keys or values of kv heads, repeated for every head that shares them."""
    shared_by = q_BHTK.size(1) // x_BGSK.size(1)
    return x_BGSK if shared_by == 1 else x_BGSK.repeat_interleave(shared_by, dim=1)


def weigh(scores_BHTS: Tensor, d_k: int, visible_B1TS: Tensor | None, *, tap: Tap) -> Tensor:
    """Scores to weights: divided by √d_k, hidden positions left out, softmax."""
    scaled_BHTS = scores_BHTS / d_k**0.5
    if visible_B1TS is None:
        return tap("weights", tap("scaled", scaled_BHTS).softmax(-1))
    scaled_BHTS = tap("scaled", scaled_BHTS.masked_fill(~visible_B1TS, -inf))
    # A row that sees nothing weighs nothing. Only such a row: any other NaN is a fault that must stay in sight.
    sees_nothing_B1T1 = ~visible_B1TS.any(-1, keepdim=True)
    return tap("weights", scaled_BHTS.softmax(-1).masked_fill(sees_nothing_B1T1, 0.0))


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each with its own view (section 3.2.2); kv heads fewer than heads are shared."""

    def __init__(self, config: ModelConfig, dot_product: DotProduct) -> None:
        super().__init__()
        self.d_k = config.d_k
        width, kv_width = config.heads * config.d_k, config.kv_heads * config.d_k
        self.query = linear(config.d_model, width, bias=config.bias)
        self.key = linear(config.d_model, kv_width, bias=config.bias)
        self.value = linear(config.d_model, kv_width, bias=config.bias)
        self.output = linear(width, config.d_model, bias=config.bias)
        self.dot_product = dot_product

    def forward(self, x_BTD: Tensor, seen_BSD: Tensor, visible: Visible, *, tap: Tap = NO_TAP) -> Tensor:
        """What every position of `x` gathers from the positions of `seen`."""
        if tap.active:
            q_BHTK, seen = self.queries(x_BTD, tap=tap), self.keys_values(seen_BSD, tap=tap)
        else:
            q_BHTK, seen = self._all_at_once(x_BTD, seen_BSD)
        return self.gather(q_BHTK, seen, visible, tap=tap)

    def queries(self, x_BTD: Tensor, *, first: int = 0, tap: Tap = NO_TAP) -> Tensor:
        """The queries of positions from `first` on, ready to meet keys."""
        q_BHTK = tap("q", self._split_heads(self.query(x_BTD)))
        return self.dot_product.place(q_BHTK, first=first, tap=tap, name="q_rotated")

    def keys_values(self, x_BSD: Tensor, *, first: int = 0, tap: Tap = NO_TAP) -> KeysValues:
        """The keys and values of positions from `first` on, ready to be met."""
        k_BGSK = tap("k", self._split_heads(self.key(x_BSD)))
        v_BGSK = tap("v", self._split_heads(self.value(x_BSD)))
        return KeysValues(self.dot_product.place(k_BGSK, first=first, tap=tap, name="k_rotated"), v_BGSK)

    def gather(self, q_BHTK: Tensor, seen: KeysValues, visible: Visible, *, tap: Tap = NO_TAP) -> Tensor:
        """Let every head attend, join what they found, and mix it through W^O."""
        z_BHTK = self.dot_product(q_BHTK, seen, visible, tap=tap)
        return tap("output", self.output(z_BHTK.transpose(1, 2).flatten(2)))

    def _all_at_once(self, x_BTD: Tensor, seen_BSD: Tensor) -> tuple[Tensor, KeysValues]:
        """The same as `queries` and `keys_values`, which a test holds it to, in fewer multiplications."""
        if x_BTD is seen_BSD:
            queries, keys, values = at_once(x_BTD, self.query, self.key, self.value)
        else:
            queries, (keys, values) = self.query(x_BTD), at_once(seen_BSD, self.key, self.value)
        q_BHTK, k_BGSK, v_BGSK = map(self._split_heads, (queries, keys, values))
        q_BHTK = self.dot_product.place(q_BHTK, first=0, tap=NO_TAP, name="q_rotated")
        k_BGSK = self.dot_product.place(k_BGSK, first=0, tap=NO_TAP, name="k_rotated")
        return q_BHTK, KeysValues(k_BGSK, v_BGSK)

    def _split_heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], -1, self.d_k).transpose(1, 2)
