"""Words as vectors, and vectors as words again: section 3.4 of the paper, "Embeddings and Softmax".

There are three tables (source, target and output layer), and some of them may be the same one. Each way of sharing
them is a class that holds every table once, under one name, so nothing is stored twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitrail.config import TIES, ModelConfig
from vitrail.errors import ConfigError
from vitrail.model.taps import NO_TAP, Tap


class Embeddings(nn.Module, ABC):
    """Source ids to vectors, target ids to vectors, and vectors to one score for each word of the target."""

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        self.scale = config.d_model**0.5 if config.embedding_scale else 1.0

    @abstractmethod
    def source_table_VD(self) -> Tensor:
        """The table that source ids are looked up in."""

    @abstractmethod
    def target_table_VD(self) -> Tensor:
        """The table that target ids are looked up in."""

    @abstractmethod
    def output_table_VD(self) -> Tensor:
        """The table that a vector is compared with to score every word."""

    def embed_source(self, ids_BS: Tensor, *, tap: Tap = NO_TAP) -> Tensor:
        """The vectors of source words."""
        return tap("embedding", F.embedding(ids_BS, self.source_table_VD()) * self.scale)

    def embed_target(self, ids_BT: Tensor, *, tap: Tap = NO_TAP) -> Tensor:
        """The vectors of target words."""
        return tap("embedding", F.embedding(ids_BT, self.target_table_VD()) * self.scale)

    def score_words(self, hidden_BTD: Tensor, bias_V: Tensor | None) -> Tensor:
        """The logits: how well each word of the target vocabulary fits."""
        return F.linear(hidden_BTD, self.output_table_VD(), bias_V)


class SharedEmbeddings(Embeddings):
    """One table for all three, as in the paper."""

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        self.shared = _embedding_table(target_vocabulary, config.d_model)

    def source_table_VD(self) -> Tensor:
        """The shared table."""
        return self.shared

    def target_table_VD(self) -> Tensor:
        """The shared table."""
        return self.shared

    def output_table_VD(self) -> Tensor:
        """The shared table."""
        return self.shared


class TargetSharedEmbeddings(Embeddings):
    """A table for the source, and one for the target and the output."""

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        self.source = _embedding_table(source_vocabulary, config.d_model)
        self.target = _embedding_table(target_vocabulary, config.d_model)

    def source_table_VD(self) -> Tensor:
        """The source's own table."""
        return self.source

    def target_table_VD(self) -> Tensor:
        """The target's table."""
        return self.target

    def output_table_VD(self) -> Tensor:
        """The target's table again."""
        return self.target


class SeparateEmbeddings(TargetSharedEmbeddings):
    """Three tables."""

    def __init__(self, config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__(config, source_vocabulary, target_vocabulary)
        # Nothing is ever looked up in this one: it is a linear layer's weight and begins as one.
        self.output = nn.Parameter(nn.init.xavier_uniform_(torch.empty(target_vocabulary, config.d_model)))

    def output_table_VD(self) -> Tensor:
        """The output layer's own table."""
        return self.output


TABLES: dict[str, type[Embeddings]] = {
    "all": SharedEmbeddings,
    "target": TargetSharedEmbeddings,
    "none": SeparateEmbeddings,
}


def build_embeddings(config: ModelConfig, source_vocabulary: int, target_vocabulary: int) -> Embeddings:
    """The tables, shared as the settings say."""
    if TIES[config.tie_embeddings].needs_joint and source_vocabulary != target_vocabulary:
        raise ConfigError(
            f"tie_embeddings = '{config.tie_embeddings}' cannot go with vocabularies of {source_vocabulary} "
            f"and {target_vocabulary}",
            where="[model]",
            fix="two vocabularies cannot share one table: set tie_embeddings = 'target' or 'none'",
        )
    return TABLES[config.tie_embeddings](config, source_vocabulary, target_vocabulary)


def _embedding_table(vocabulary: int, d_model: int) -> nn.Parameter:
    # N(0, 1/d_model): scaled by √d_model, a word's vector is as large as its position's, and logits start near N(0, 1).
    return nn.Parameter(torch.randn(vocabulary, d_model) * d_model**-0.5)
