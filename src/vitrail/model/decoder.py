"""The decoder: section 3.1 of the paper. Each layer is masked self-attention, cross-attention, then feed-forward."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.model.add_norm import build_add_norm, build_final_norm
from vitrail.model.attention import DotProduct, MultiHeadAttention
from vitrail.model.cache import Cache, LayerCache
from vitrail.model.encoder import Memory
from vitrail.model.feed_forward import FeedForward
from vitrail.model.positions import build_dot_product
from vitrail.model.taps import NO_TAP, Tap


class DecoderLayer(nn.Module):
    """One layer of the decoder."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, build_dot_product(config))
        self.add_norm_1 = build_add_norm(config)
        self.cross_attention = MultiHeadAttention(config, DotProduct(config.attention_dropout))
        self.add_norm_2 = build_add_norm(config)
        self.feed_forward = FeedForward(config)
        self.add_norm_3 = build_add_norm(config)

    def forward(self, x_BTD: Tensor, visible_11TS: Tensor, memory: Memory, *, tap: Tap = NO_TAP) -> Tensor:
        """Every position at once: look back, look at the source, think."""

        def look_back(x_BTD: Tensor) -> Tensor:
            return self.self_attention.forward(x_BTD, x_BTD, visible_11TS, tap=tap.at("self_attention"))

        def look_at_source(x_BTD: Tensor) -> Tensor:
            seen_BSD, visible_B11S = memory.output_BSD, memory.visible_B11S
            return self.cross_attention.forward(x_BTD, seen_BSD, visible_B11S, tap=tap.at("cross_attention"))

        def think(x_BTD: Tensor) -> Tensor:
            return self.feed_forward.forward(x_BTD, tap=tap.at("feed_forward"))

        x_BTD = self.add_norm_1(x_BTD, look_back, tap=tap.at("add_norm_1"))
        x_BTD = self.add_norm_2(x_BTD, look_at_source, tap=tap.at("add_norm_2"))
        x_BTD = self.add_norm_3(x_BTD, think, tap=tap.at("add_norm_3"))
        return tap("output", x_BTD)

    def step(self, x_BWD: Tensor, cache: LayerCache, visible_B11S: Tensor) -> Tensor:
        """The newest position of every hypothesis. What came before is in the cache."""

        def look_back(x_BWD: Tensor) -> Tensor:
            attention, first = self.self_attention, cache.past.length
            rows_N1D = x_BWD.flatten(0, 1)[:, None]  # every hypothesis has a past of its own
            past = cache.past.append(attention.keys_values(rows_N1D, first=first))
            gathered_N1D = attention.gather(attention.queries(rows_N1D, first=first), past, None)
            return gathered_N1D.view_as(x_BWD)

        def look_at_source(x_BWD: Tensor) -> Tensor:
            # A sentence's hypotheses are queries to the one memory that they share.
            return self.cross_attention.gather(self.cross_attention.queries(x_BWD), cache.memory, visible_B11S)

        x_BWD = self.add_norm_1(x_BWD, look_back)
        x_BWD = self.add_norm_2(x_BWD, look_at_source)
        return self.add_norm_3.forward(x_BWD, self.feed_forward)


class Decoder(nn.Module):
    """The stack of layers and, with pre-norm, a final norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.final_norm = build_final_norm(config)

    def forward(self, x_BTD: Tensor, visible_11TS: Tensor, memory: Memory, *, tap: Tap = NO_TAP) -> Tensor:
        """Turn embedded words into vectors that predict the next words."""
        for number, layer in enumerate(self.layers):
            x_BTD = layer(x_BTD, visible_11TS, memory, tap=tap.at(number))
        return tap("output", self.final_norm(x_BTD))

    def start(self, memory: Memory) -> Cache:
        """A cache that holds the memory and no target word yet."""
        layers = (LayerCache(layer.cross_attention.keys_values(memory.output_BSD)) for layer in self.each_layer())
        return Cache(layers, memory.visible_B11S)

    def step(self, x_BWD: Tensor, cache: Cache) -> Tensor:
        """The newest position of every hypothesis through every layer."""
        for layer, layer_cache in zip(self.each_layer(), cache.layers, strict=True):
            x_BWD = layer.step(x_BWD, layer_cache, cache.visible_B11S)
        normed_BWD: Tensor = self.final_norm(x_BWD)
        return normed_BWD

    def each_layer(self) -> Iterator[DecoderLayer]:
        """The layers with their type, which `nn.ModuleList` does not keep."""
        for layer in self.layers:
            assert isinstance(layer, DecoderLayer)
            yield layer
