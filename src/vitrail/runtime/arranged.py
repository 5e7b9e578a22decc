"""A Transformer arranged for search: the same weights, packed, in a forward pass without modules, taps or gradients.

It computes what `Transformer.start` and `Transformer.step` compute, and tests hold them equal. Dimension key:
vitrail/model/__init__.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

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
from vitrail.runtime.linear import Linear, padded


_PIECE = 128  # hypotheses whose predictions are computed at a time


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
        across = [layer.cross_attention for layer in model.decoder.each_layer()]
        self._memory = Linear.of(*(part for attention in across for part in (attention.key, attention.value)))
        self._shape = (len(across), 2, -1, model.config.d_k)  # of what `_memory` makes of a position
        self._output = Linear(model.embeddings.output_table_VD(), model.output_bias)

    @torch.no_grad()
    def start(self, source_BS: Tensor) -> Cache:
        """Read the source sentences and get ready to translate them word by word."""
        visible_B11S = mask_padding(source_BS)
        x_BSD = self._model.embed_source(source_BS)
        x_MD = _pad(x_BSD.flatten(0, 1))
        for layer in self._encoder:
            x_MD = layer(x_MD, source_BS.shape, visible_B11S)
        memory_MD = self._model.encoder.final_norm(x_MD)
        kv_BSL2GK = self._memory(memory_MD)[: source_BS.numel()].view(*source_BS.shape, *self._shape)
        return Cache(kv_BSL2GK, visible_B11S)

    @torch.no_grad()
    def step(self, ids_BW: Tensor, cache: Cache) -> Tensor:
        """Add the newest id of every hypothesis to the cache; return the next one's log-probabilities (float32)."""
        logits_NV = self._output(self._step(ids_BW, cache))[: ids_BW.numel()]
        return logits_NV.view(*ids_BW.shape, -1).float().log_softmax(-1)

    @torch.no_grad()
    def pieces(self, ids_BW: Tensor, cache: Cache) -> Iterator[Tensor]:
        """As `step`, a few sentences at a time: their log-probabilities are still near when the search reads them."""
        sentences, hypotheses = ids_BW.shape
        hidden_MD = self._step(ids_BW, cache)
        at_a_time = max(1, _PIECE // hypotheses)
        for first in range(0, sentences, at_a_time):
            last = min(first + at_a_time, sentences)
            rows = slice(first * hypotheses, padded((last - first) * hypotheses) + first * hypotheses)
            logits_NV = self._output(hidden_MD[rows])[: (last - first) * hypotheses].float()
            torch.ops.aten._log_softmax.out(logits_NV, 1, False, out=logits_NV)
            yield logits_NV.view(last - first, hypotheses, -1)

    def _step(self, ids_BW: Tensor, cache: Cache) -> Tensor:
        """The decoder's output for every hypothesis, and some rows more."""
        if cache.length == 0:
            cache.hypotheses = ids_BW.size(1)  # nothing is cached yet, so any number may begin
        assert ids_BW.shape == (cache.sentences, cache.hypotheses)
        x_MD = _pad(self._model.embed_target(ids_BW.reshape(-1, 1), first=cache.length)[:, 0])
        hidden_B1WS = cache.slots.open(cache.hypotheses, like=x_MD)
        for number, layer in enumerate(self._decoder):
            x_MD = layer(x_MD, number, cache, hidden_B1WS)
        cache.length += 1
        normed_MD: Tensor = self._model.decoder.final_norm(x_MD)
        return normed_MD


class _AddNorm:
    """The residual connection and the norm around a sub-layer."""

    def __init__(self, part: AddNorm) -> None:
        self._norm, self._is_last = part.norm, part.normalises_its_sum

    def __call__(self, x_MD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self._is_last:
            return self._normed(sublayer(x_MD).add_(x_MD))
        return sublayer(self._normed(x_MD)).add_(x_MD)

    def _normed(self, x_MD: Tensor) -> Tensor:
        norm = self._norm
        return F.layer_norm(x_MD, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


class _FeedForward:
    """The feed-forward network."""

    def __init__(self, part: FeedForward) -> None:
        is_relu = part.activation is F.relu
        self._inner, self._outer = Linear.of(part.inner, relu=is_relu), Linear.of(part.outer)
        self._activation = None if is_relu else part.activation

    def __call__(self, x_MD: Tensor) -> Tensor:
        hidden_MF = self._inner(x_MD)
        return self._outer(hidden_MF if self._activation is None else self._activation(hidden_MF))


class _SelfAttention:
    """Self-attention, with queries, keys and values from one product."""

    def __init__(self, part: MultiHeadAttention) -> None:
        self._qkv, self._output = Linear.of(part.query, part.key, part.value), Linear.of(part.output)
        self._d_k, self._q_width = part.d_k, part.query.out_features
        self._dot_product, self._places = part.dot_product, _places(part.dot_product)

    def look_around(self, x_MD: Tensor, shape: torch.Size, visible_B11S: Tensor | None) -> Tensor:
        """Every word of a sentence looks at every other."""
        q_BTHK, kv_BT2GK = self._project(x_MD, shape)
        seen = keys_values(kv_BT2GK)
        q_BHTK = q_BTHK.transpose(1, 2)
        if self._places:
            q_BHTK, seen = self._place(q_BHTK, first=0), KeysValues(self._place(seen.k_BGSK, first=0), seen.v_BGSK)
        return self._gather(q_BHTK, seen, visible_B11S, x_MD.size(0))

    def look_back(self, x_MD: Tensor, layer: int, cache: Cache, hidden_B1WS: Tensor | None) -> Tensor:
        """The newest word of every hypothesis looks at the words before it, and at itself."""
        q_BWHK, kv_BW2GK = self._project(x_MD, torch.Size((cache.sentences, cache.hypotheses)))
        if self._places:
            # Every hypothesis is a text of one word here, at the same position.
            q_BWHK = self._place(q_BWHK.flatten(0, 1)[:, :, None], first=cache.length).view_as(q_BWHK)
            k_BWGK = kv_BW2GK[:, :, 0]
            k_BWGK = self._place(k_BWGK.flatten(0, 1)[:, :, None], first=cache.length).view_as(k_BWGK)
            kv_BW2GK = torch.stack([k_BWGK, kv_BW2GK[:, :, 1]], dim=2)
        seen = cache.slots.fill(layer, kv_BW2GK)
        return self._gather(q_BWHK.transpose(1, 2), seen, hidden_B1WS, x_MD.size(0))

    def _project(self, x_MD: Tensor, shape: torch.Size) -> tuple[Tensor, Tensor]:
        """Queries, and keys beside values."""
        qkv = self._qkv(x_MD)[: shape.numel()]
        q_BTHK = qkv[:, : self._q_width].view(*shape, -1, self._d_k)
        return q_BTHK, qkv[:, self._q_width :].view(*shape, 2, -1, self._d_k)

    def _place(self, vectors: Tensor, *, first: int) -> Tensor:
        return self._dot_product.place(vectors, first=first, tap=NO_TAP, name="")

    def _gather(self, q_BHTK: Tensor, seen: KeysValues, mask: Tensor | None, rows: int) -> Tensor:
        return self._output(_join(self._dot_product.forward(q_BHTK, seen, mask), rows))


class _CrossAttention:
    """Attention to the source, whose keys and values are in the cache."""

    def __init__(self, part: MultiHeadAttention) -> None:
        self._query, self._output = Linear.of(part.query), Linear.of(part.output)
        self._d_k, self._dot_product = part.d_k, part.dot_product

    def look_at_source(self, x_MD: Tensor, layer: int, cache: Cache) -> Tensor:
        """A sentence's hypotheses are queries to the one memory that they share."""
        rows = cache.sentences * cache.hypotheses
        q_BWHK = self._query(x_MD)[:rows].view(cache.sentences, cache.hypotheses, -1, self._d_k)
        z_BHWK = self._dot_product.forward(q_BWHK.transpose(1, 2), cache.memory(layer), cache.hidden_B11S)
        return self._output(_join(z_BHWK, x_MD.size(0)))


class _EncoderLayer:
    """A layer of the encoder."""

    def __init__(self, part: EncoderLayer) -> None:
        self._self_attention, self._feed_forward = _SelfAttention(part.self_attention), _FeedForward(part.feed_forward)
        self._add_norm_1, self._add_norm_2 = _AddNorm(part.add_norm_1), _AddNorm(part.add_norm_2)

    def __call__(self, x_MD: Tensor, shape: torch.Size, visible_B11S: Tensor | None) -> Tensor:
        x_MD = self._add_norm_1(x_MD, lambda x_MD: self._self_attention.look_around(x_MD, shape, visible_B11S))
        return self._add_norm_2(x_MD, self._feed_forward)


class _DecoderLayer:
    """A layer of the decoder."""

    def __init__(self, part: DecoderLayer) -> None:
        self._self_attention, self._add_norm_1 = _SelfAttention(part.self_attention), _AddNorm(part.add_norm_1)
        self._cross_attention, self._add_norm_2 = _CrossAttention(part.cross_attention), _AddNorm(part.add_norm_2)
        self._feed_forward, self._add_norm_3 = _FeedForward(part.feed_forward), _AddNorm(part.add_norm_3)

    def __call__(self, x_MD: Tensor, number: int, cache: Cache, hidden_B1WS: Tensor | None) -> Tensor:
        x_MD = self._add_norm_1(x_MD, lambda x_MD: self._self_attention.look_back(x_MD, number, cache, hidden_B1WS))
        x_MD = self._add_norm_2(x_MD, lambda x_MD: self._cross_attention.look_at_source(x_MD, number, cache))
        return self._add_norm_3(x_MD, self._feed_forward)


def _pad(x_ND: Tensor) -> Tensor:
    """The rows with some more of zeros, so that products come in few sizes."""
    return _of_size(x_ND, padded(x_ND.size(0)))


def _join(z_BHTK: Tensor, rows: int) -> Tensor:
    """What the heads found, side by side, in as many rows."""
    return _of_size(z_BHTK.transpose(1, 2).flatten(2).flatten(0, 1), rows)


def _of_size(x_ND: Tensor, rows: int) -> Tensor:
    missing = rows - x_ND.size(0)
    return F.pad(x_ND, (0, 0, 0, missing)) if missing else x_ND


def _bare(dot_product: DotProduct) -> DotProduct:
    """The attention itself, with or without a gate."""
    return _bare(dot_product.inner) if isinstance(dot_product, GatedHeads) else dot_product


def _looks_at_order(dot_product: DotProduct) -> bool:
    """Whether it needs its keys in order of position: whatever is not equation (1) may."""
    return type(_bare(dot_product)).forward is not DotProduct.forward


def _places(dot_product: DotProduct) -> bool:
    """Whether queries and keys depend on their positions."""
    return type(_bare(dot_product)).place is not DotProduct.place
