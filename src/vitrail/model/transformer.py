"""The whole Transformer: section 3 of the paper, figure 1."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vitrail.config import ModelConfig
from vitrail.model.cache import Cache
from vitrail.model.decoder import Decoder
from vitrail.model.embedding import build_embeddings
from vitrail.model.encoder import Encoder, Memory
from vitrail.model.masks import mask_future, mask_padding
from vitrail.model.positions import build_positions
from vitrail.model.taps import NO_TAP, Tap
from vitrail.text.special import BOS


class Transformer(nn.Module):
    """From source ids and the target ids so far to a score for every word that may come next."""

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.vocabulary = target_vocabulary
        self.embeddings = build_embeddings(config, source_vocabulary, target_vocabulary)
        self.source_positions = build_positions(config)
        self.target_positions = build_positions(config)
        self.max_positions = self.target_positions.limit
        self.dropout = nn.Dropout(config.dropout)  # on the sum of embedding and position (section 5.4)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.output_bias = nn.Parameter(torch.zeros(target_vocabulary)) if config.output_bias else None

    def forward(self, source_BS: Tensor, target_BT: Tensor, *, tap: Tap = NO_TAP) -> Tensor:
        """The logits of the word after each of `target`'s, which begins with `<bos>`."""
        hidden_BTD = self.decode(target_BT, self.encode(source_BS, tap=tap), tap=tap)
        return tap("logits", self.output(hidden_BTD))

    def log_probs(self, source_BS: Tensor, target_BT: Tensor, *, tap: Tap = NO_TAP) -> Tensor:
        """The log-probabilities of the word after each of `target`'s, in float32."""
        logits_BTV = self.forward(source_BS, target_BT, tap=tap)
        return tap("log_probs", logits_BTV.float().log_softmax(-1))

    def encode(self, source_BS: Tensor, *, tap: Tap = NO_TAP) -> Memory:
        """Read the source sentences."""
        x_BSD, visible_B11S = self.embed_source(source_BS, tap=tap.at("source")), mask_padding(source_BS)
        return Memory(self.encoder.forward(x_BSD, visible_B11S, tap=tap.at("encoder")), visible_B11S)

    def decode(self, target_BT: Tensor, memory: Memory, *, tap: Tap = NO_TAP) -> Tensor:
        """Every target position at once. None of them sees the ones after it."""
        x_BTD = self.embed_target(target_BT, tap=tap.at("target"))
        visible_11TS = mask_future(target_BT.size(1), target_BT.device)
        return self.decoder.forward(x_BTD, visible_11TS, memory, tap=tap.at("decoder"))

    def output(self, hidden_BTD: Tensor) -> Tensor:
        """The final linear layer."""
        return self.embeddings.score_words(hidden_BTD, self.output_bias)

    @torch.no_grad()
    def start(self, source_BS: Tensor) -> Cache:
        """Read the source sentences and get ready to translate them word by word."""
        assert not self.training, "dropout would make the translation random: call eval() first"
        return self.decoder.start(self.encode(source_BS))

    @torch.no_grad()
    def step(self, ids_BW: Tensor, cache: Cache) -> Tensor:
        """Add the newest id of every hypothesis to the cache; return the next one's log-probabilities (float32)."""
        if cache.length == 0:
            cache.hypotheses = ids_BW.size(1)  # nothing is cached yet, so any number may begin
        assert ids_BW.shape == (cache.sentences, cache.hypotheses)
        x_N1D = self.embed_target(ids_BW.reshape(-1, 1), first=cache.length)
        hidden_BWD = self.decoder.step(x_N1D.view(*ids_BW.shape, -1), cache)
        return self.output(hidden_BWD).float().log_softmax(-1)

    def embed_source(self, source_BS: Tensor, *, tap: Tap = NO_TAP) -> Tensor:
        """The encoder's input: embeddings that know their positions."""
        x_BSD = self.embeddings.embed_source(source_BS, tap=tap)
        embedded_BSD: Tensor = self.dropout(self.source_positions(x_BSD, tap=tap))
        return embedded_BSD

    def embed_target(self, target_BT: Tensor, *, first: int = 0, tap: Tap = NO_TAP) -> Tensor:
        """The decoder's input, `first` being the position of the first word."""
        x_BTD = self.embeddings.embed_target(target_BT, tap=tap)
        embedded_BTD: Tensor = self.dropout(self.target_positions(x_BTD, first=first, tap=tap))
        return embedded_BTD


def shifted(target_BT: Tensor) -> Tensor:
    """The decoder's input in training: the target moved one place to the right, behind `<bos>`."""
    return torch.cat([torch.full_like(target_BT[:, :1], BOS), target_BT[:, :-1]], dim=1)
