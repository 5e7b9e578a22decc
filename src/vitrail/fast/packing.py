"""Pairs of sentences without padding: all tokens of a side in one row.

Most of the model looks at one token at a time, and padding costs it as much as words do. Only attention must know which
tokens make up a sentence. Pairs with the same two lengths are neighbours, and attention takes each such run at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise

import torch
from torch import Tensor

from vitrail.text.special import PAD


@dataclass(frozen=True)
class Run:
    """Neighbouring sentences of the same lengths."""

    sentences: int
    queries: int  # of each sentence
    keys: int


@dataclass(frozen=True)
class Sight:
    """Who may look at whom. It takes the place of a mask: a query sees only the keys of its own sentence."""

    runs: tuple[Run, ...]
    ahead: bool  # it sees all of them; otherwise none behind its own position

    def of_queries(self, x_1HNK: Tensor) -> list[Tensor]:
        """The queries of each run, a sentence a row: a view of the same memory."""
        return _cut(x_1HNK, [(run.sentences, run.queries) for run in self.runs])

    def of_keys(self, x_1HNK: Tensor) -> list[Tensor]:
        """The keys or the values of each run."""
        return _cut(x_1HNK, [(run.sentences, run.keys) for run in self.runs])


def _cut(x_1HNK: Tensor, runs: list[tuple[int, int]]) -> list[Tensor]:
    _, heads, _, d_k = x_1HNK.shape
    bounds = accumulate((sentences * length for sentences, length in runs), initial=0)
    return [
        x_1HNK[0, :, start:end].view(heads, sentences, length, d_k).transpose(0, 1)
        for (start, end), (sentences, length) in zip(pairwise(bounds), runs, strict=True)
    ]


class Side:
    """The source or the target of packed pairs."""

    def __init__(self, order_B: Tensor, length_B: Tensor, sight: Sight, *, looks: int) -> None:
        self.sight, self._order_B, self._looks = sight, order_B, looks
        self.longest = int(length_B.max())
        self._is_token_BT = torch.arange(self.longest) < length_B[order_B, None]
        self.position_N = self._is_token_BT.nonzero()[:, 1].repeat(looks)  # of each token in its sentence

    def pack(self, ids_BT: Tensor) -> Tensor:
        """The tokens in one row, repeated for each look, without padding."""
        return ids_BT[self._order_B, : self.longest][self._is_token_BT].repeat(self._looks)[None]


class Packing:
    """How to pack the pairs of a batch: sorted so that pairs of the same lengths are neighbours."""

    def __init__(self, source_BS: Tensor, target_BT: Tensor, *, looks: int = 1) -> None:
        source_B, target_B = (source_BS != PAD).sum(1), (target_BT != PAD).sum(1)
        lengths = list(zip(source_B.tolist(), target_B.tolist(), strict=True))
        order_B = torch.tensor(sorted(range(len(lengths)), key=lengths.__getitem__))
        runs = [(len(list(alike)), *both) for both, alike in groupby(sorted(lengths))] * looks
        self.across = Sight(tuple(Run(sentences, t, s) for sentences, s, t in runs), ahead=True)
        among_sources = Sight(tuple(Run(sentences, s, s) for sentences, s, _ in runs), ahead=True)
        among_targets = Sight(tuple(Run(sentences, t, t) for sentences, _, t in runs), ahead=False)
        self.source = Side(order_B, source_B, among_sources, looks=looks)
        self.target = Side(order_B, target_B, among_targets, looks=looks)
