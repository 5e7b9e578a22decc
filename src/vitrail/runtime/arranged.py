"""A Transformer arranged for search: the same weights, packed, in a forward pass without modules, taps or gradients.

It computes what `Transformer.start` and `Transformer.step` compute, and tests hold them equal. Dimension key:
vitrail/model/__init__.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitrail.decode.step import StepModel
from vitrail.model import NO_TAP, Transformer
from vitrail.model.add_norm import AddNorm
from vitrail.model.attention import DotProduct, KeysValues, MultiHeadAttention
from vitrail.model.decoder import DecoderLayer
from vitrail.model.encoder import EncoderLayer
from vitrail.model.feed_forward import FeedForward
from vitrail.model.interventions import GatedHeads
from vitrail.model.masks import mask_padding
from vitrail.runtime.cache import Cache, keys_values
from vitrail.runtime.linear import Linear


def arranged(model: Transformer) -> StepModel[Any]:
    """The model arranged for search, or the model itself if its attention needs its keys in order of position.

    It is a snapshot: arrange a model again after its weights have changed.
    """
    in_order = [_looks_at_order(layer.self_attention.dot_product) for layer in model.decoder.each_layer()]
    return model if any(in_order) else Arranged(model)


class Arranged:
    """A model to search over."""

    def __init__(self, model: Transformer) -> None:
        assert not model.training, "dropout would make the translation random: call eval() first"
        self.vocabulary = model.vocabulary
        self._model = model
        self._encoder = [_EncoderLayer(layer) for layer in model.encoder.each_layer()]
        self._decoder = [_DecoderLayer(layer) for layer in model.decoder.each_layer()]
        self._encoder_norm, self._decoder_norm = _Norm(model.encoder.final_norm), _Norm(model.decoder.final_norm)
        across = [layer.cross_attention for layer in model.decoder.each_layer()]
        self._memory = Linear.of(*(part for attention in across for part in (attention.key, attention.value)))
        self._shape = (len(across), 2, -1, model.config.d_k)  # of what `_memory` makes of a position
        self._output = Linear(model.embeddings.output_table_VD(), model.output_bias)

    @torch.no_grad()
    def start(self, source_BS: Tensor) -> Cache:
        """Read the source sentences and get ready to translate them word by word."""
        visible_B11S = mask_padding(source_BS)
        x_ND = self._model.embed_source(source_BS).flatten(0, 1)
        for layer in self._encoder:
            x_ND = layer(x_ND, source_BS.shape, visible_B11S)
        kv_BSL2GK = self._memory(self._encoder_norm(x_ND)).view(*source_BS.shape, *self._shape)
        return Cache(kv_BSL2GK, visible_B11S)

    @torch.no_grad()
    def step(self, ids_BW: Tensor, cache: Cache) -> Tensor:
        """Add the newest id of every hypothesis to the cache; return the next one's log-probabilities (float32)."""
        logits_NV = self._output(self._step(ids_BW, cache)).float()
        torch.log_softmax(logits_NV, 1, out=logits_NV)
        return logits_NV.view(*ids_BW.shape, -1)

    def _step(self, ids_BW: Tensor, cache: Cache) -> Tensor:
        """The decoder's output for every hypothesis."""
        if cache.length == 0:
            cache.hypotheses = ids_BW.size(1)  # nothing is cached yet, so any number may begin
        assert ids_BW.shape == (cache.sentences, cache.hypotheses)
        x_ND = self._model.embed_target(ids_BW.reshape(-1, 1), first=cache.length)[:, 0]
        hidden_B1WS = cache.slots.open(cache.hypotheses, like=x_ND)
        for number, layer in enumerate(self._decoder):
            x_ND = layer(x_ND, number, cache, hidden_B1WS)
        cache.length += 1
        return self._decoder_norm(x_ND)


class _Norm:
    """A layer norm, or nothing."""

    def __init__(self, part: nn.Module) -> None:
        assert isinstance(part, nn.LayerNorm | nn.Identity)
        self._norm = (
            (part.normalized_shape, part.weight, part.bias, part.eps) if isinstance(part, nn.LayerNorm) else None
        )

    def __call__(self, x_ND: Tensor) -> Tensor:
        return x_ND if self._norm is None else torch.layer_norm(x_ND, *self._norm)


class _AddNorm:
    """The residual connection and the norm around a sub-layer."""

    def __init__(self, part: AddNorm) -> None:
        self._norm, self._is_last = _Norm(part.norm), part.normalises_its_sum

    def __call__(self, x_ND: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self._is_last:
            return self._norm(sublayer(x_ND).add_(x_ND))
        return sublayer(self._norm(x_ND)).add_(x_ND)


class _FeedForward:
    """The feed-forward network."""

    def __init__(self, part: FeedForward) -> None:
        is_relu = part.activation is F.relu
        self._inner, self._outer = Linear.of(part.inner, relu=is_relu), Linear.of(part.outer)
        self._activation = None if is_relu else part.activation

    def __call__(self, x_ND: Tensor) -> Tensor:
        hidden_NF = self._inner(x_ND)
        return self._outer(hidden_NF if self._activation is None else self._activation(hidden_NF))


class _SelfAttention:
    """Self-attention, with queries, keys and values from one product."""

    def __init__(self, part: MultiHeadAttention) -> None:
        self._qkv, self._output = Linear.of(part.query, part.key, part.value), Linear.of(part.output)
        self._d_k, self._q_width = part.d_k, part.query.out_features
        self._dot_product, self._places = part.dot_product, _places(part.dot_product)

    def look_around(self, x_ND: Tensor, shape: torch.Size, visible_B11S: Tensor | None) -> Tensor:
        """Every word of a sentence looks at every other."""
        q_BTHK, kv_BT2GK = self._project(x_ND, shape)
        seen = keys_values(kv_BT2GK)
        q_BHTK = q_BTHK.transpose(1, 2)
        if self._places:
            q_BHTK, seen = self._place(q_BHTK, first=0), KeysValues(self._place(seen.k_BGSK, first=0), seen.v_BGSK)
        return self._gather(q_BHTK, seen, visible_B11S)

    def look_back(self, x_ND: Tensor, layer: int, cache: Cache, hidden_B1WS: Tensor | None) -> Tensor:
        """The newest word of every hypothesis looks at the words before it, and at itself."""
        q_BWHK, kv_BW2GK = self._project(x_ND, torch.Size((cache.sentences, cache.hypotheses)))
        if self._places:
            # Every hypothesis is a text of one word here, at the same position.
            q_BWHK = self._place(q_BWHK.flatten(0, 1)[:, :, None], first=cache.length).view_as(q_BWHK)
            k_BWGK = kv_BW2GK[:, :, 0]
            k_BWGK = self._place(k_BWGK.flatten(0, 1)[:, :, None], first=cache.length).view_as(k_BWGK)
            kv_BW2GK = torch.stack([k_BWGK, kv_BW2GK[:, :, 1]], dim=2)
        seen = cache.slots.fill(layer, kv_BW2GK)
        return self._gather(q_BWHK.transpose(1, 2), seen, hidden_B1WS)

    def _project(self, x_ND: Tensor, shape: torch.Size) -> tuple[Tensor, Tensor]:
        """Queries, and keys beside values."""
        qkv = self._qkv(x_ND)
        q_BTHK = qkv[:, : self._q_width].view(*shape, -1, self._d_k)
        return q_BTHK, qkv[:, self._q_width :].view(*shape, 2, -1, self._d_k)

    def _place(self, vectors: Tensor, *, first: int) -> Tensor:
        return self._dot_product.place(vectors, first=first, tap=NO_TAP, name="")

    def _gather(self, q_BHTK: Tensor, seen: KeysValues, mask: Tensor | None) -> Tensor:
        return self._output(_join(self._dot_product.forward(q_BHTK, seen, mask)))


class _CrossAttention:
    """Attention to the source, whose keys and values are in the cache."""

    def __init__(self, part: MultiHeadAttention) -> None:
        self._query, self._output = Linear.of(part.query), Linear.of(part.output)
        self._d_k, self._dot_product = part.d_k, part.dot_product

    def look_at_source(self, x_ND: Tensor, layer: int, cache: Cache) -> Tensor:
        """A sentence's hypotheses are queries to the one memory that they share."""
        q_BWHK = self._query(x_ND).view(cache.sentences, cache.hypotheses, -1, self._d_k)
        z_BHWK = self._dot_product.forward(q_BWHK.transpose(1, 2), cache.memory(layer), cache.hidden_B11S)
        return self._output(_join(z_BHWK))


class _EncoderLayer:
    """A layer of the encoder."""

    def __init__(self, part: EncoderLayer) -> None:
        self._self_attention, self._feed_forward = _SelfAttention(part.self_attention), _FeedForward(part.feed_forward)
        self._add_norm_1, self._add_norm_2 = _AddNorm(part.add_norm_1), _AddNorm(part.add_norm_2)

    def __call__(self, x_ND: Tensor, shape: torch.Size, visible_B11S: Tensor | None) -> Tensor:
        x_ND = self._add_norm_1(x_ND, lambda x_ND: self._self_attention.look_around(x_ND, shape, visible_B11S))
        return self._add_norm_2(x_ND, self._feed_forward)


class _DecoderLayer:
    """A layer of the decoder."""

    def __init__(self, part: DecoderLayer) -> None:
        self._self_attention, self._add_norm_1 = _SelfAttention(part.self_attention), _AddNorm(part.add_norm_1)
        self._cross_attention, self._add_norm_2 = _CrossAttention(part.cross_attention), _AddNorm(part.add_norm_2)
        self._feed_forward, self._add_norm_3 = _FeedForward(part.feed_forward), _AddNorm(part.add_norm_3)

    def __call__(self, x_ND: Tensor, number: int, cache: Cache, hidden_B1WS: Tensor | None) -> Tensor:
        x_ND = self._add_norm_1(x_ND, lambda x_ND: self._self_attention.look_back(x_ND, number, cache, hidden_B1WS))
        x_ND = self._add_norm_2(x_ND, lambda x_ND: self._cross_attention.look_at_source(x_ND, number, cache))
        return self._add_norm_3(x_ND, self._feed_forward)


def _join(z_BHTK: Tensor) -> Tensor:
    """What the heads found, side by side, a row for each query."""
    return z_BHTK.transpose(1, 2).flatten(2).flatten(0, 1)


def _bare(dot_product: DotProduct) -> DotProduct:
    """The attention itself, with or without a gate."""
    return _bare(dot_product.inner) if isinstance(dot_product, GatedHeads) else dot_product


def _looks_at_order(dot_product: DotProduct) -> bool:
    """Whether it needs its keys in order of position: whatever is not equation (1) may."""
    return type(_bare(dot_product)).forward is not DotProduct.forward


def _places(dot_product: DotProduct) -> bool:
    """Whether queries and keys depend on their positions."""
    return type(_bare(dot_product)).place is not DotProduct.place
