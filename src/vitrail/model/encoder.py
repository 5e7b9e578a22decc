"""The encoder: section 3.1 of the paper. Each layer is self-attention, then a feed-forward network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.model.add_norm import build_add_norm, build_final_norm
from vitrail.model.attention import MultiHeadAttention
from vitrail.model.feed_forward import FeedForward
from vitrail.model.positions import build_dot_product
from vitrail.model.taps import NO_TAP, Tap


@dataclass(frozen=True)
class Memory:
    """The encoder's output, which the decoder looks at, and which of its positions are words."""

    output_BSD: Tensor
    visible_B11S: Tensor


class EncoderLayer(nn.Module):
    """One layer of the encoder."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, build_dot_product(config))
        self.add_norm_1 = build_add_norm(config)
        self.feed_forward = FeedForward(config)
        self.add_norm_2 = build_add_norm(config)

    def forward(self, x_BSD: Tensor, visible_B11S: Tensor, *, tap: Tap = NO_TAP) -> Tensor:
        """Let the words look at each other, then let each think for itself."""

        def look_around(x_BSD: Tensor) -> Tensor:
            return self.self_attention.forward(x_BSD, x_BSD, visible_B11S, tap=tap.at("self_attention"))

        def think(x_BSD: Tensor) -> Tensor:
            return self.feed_forward.forward(x_BSD, tap=tap.at("feed_forward"))

        x_BSD = self.add_norm_1(x_BSD, look_around, tap=tap.at("add_norm_1"))
        x_BSD = self.add_norm_2(x_BSD, think, tap=tap.at("add_norm_2"))
        return tap("output", x_BSD)


class Encoder(nn.Module):
    """The stack of layers and, with pre-norm, a final norm."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.final_norm = build_final_norm(config)

    def forward(self, x_BSD: Tensor, visible_B11S: Tensor, *, tap: Tap = NO_TAP) -> Tensor:
        """Turn embedded words into what the decoder looks at."""
        for number, layer in enumerate(self.layers):
            x_BSD = layer(x_BSD, visible_B11S, tap=tap.at(number))
        return tap("output", self.final_norm(x_BSD))

    def each_layer(self) -> Iterator[EncoderLayer]:
        """The layers with their type, which `nn.ModuleList` does not keep."""
        for layer in self.layers:
            assert isinstance(layer, EncoderLayer)
            yield layer
