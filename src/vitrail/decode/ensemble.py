"""Several models as one: the mean of their probabilities. Dimension key: vitrail/model/__init__.py."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import torch
from torch import Tensor

from vitrail.decode.step import ForcedModel, StepCache, StepModel


class Ensemble:
    """Models that predict the same vocabulary, for a search. What one of them excludes, the others may still choose."""

    def __init__(self, members: Sequence[StepModel[Any]]) -> None:
        assert len({member.vocabulary for member in members}) == 1, "the ids must mean the same to all of them"
        self.vocabulary = members[0].vocabulary
        self._members = tuple(members)

    def start(self, source_BS: Tensor) -> Caches:
        """Every member reads the sources."""
        return Caches([member.start(source_BS) for member in self._members])

    def step(self, ids_BW: Tensor, cache: Caches) -> Tensor:
        """Every member takes the newest ids; their mean predicts the next."""
        steps = zip(self._members, cache.of_members, strict=True)
        return mean_probabilities([member.step(ids_BW, own) for member, own in steps])


class Caches:
    """The members' caches, which move together."""

    def __init__(self, of_members: Sequence[StepCache]) -> None:
        self.of_members = tuple(of_members)

    def reorder(self, parent_BW: Tensor) -> None:
        """Let hypothesis w of sentence b continue the former hypothesis `parent_BW[b, w]`."""
        for cache in self.of_members:
            cache.reorder(parent_BW)

    def keep(self, rows: Tensor) -> None:
        """Continue with these sentences."""
        for cache in self.of_members:
            cache.keep(rows)


class ForcedEnsemble:
    """The same for given targets."""

    def __init__(self, members: Sequence[ForcedModel]) -> None:
        self._members = tuple(members)

    def log_probs(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """The logarithm of the mean probability of each id."""
        return mean_probabilities([member.log_probs(source_BS, target_BT) for member in self._members])


def mean_probabilities(log_probs: Sequence[Tensor]) -> Tensor:
    """The logarithm of the mean of probabilities that are given as logarithms."""
    return torch.stack(tuple(log_probs)).logsumexp(0) - log(len(log_probs))
