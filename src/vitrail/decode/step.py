"""What a search needs from a model: ids in, log-probabilities out, one step at a time."""

from __future__ import annotations

from typing import Protocol, TypeVar

from torch import Tensor


class StepCache(Protocol):
    """What a model keeps between steps: for every sentence, the keys and values of its hypotheses."""

    def reorder(self, parent_BW: Tensor) -> None:
        """Make hypothesis w of sentence b a copy of old hypothesis `parent_BW[b, w]`; W may change."""

    def keep(self, rows: Tensor) -> None:
        """Keep only these sentences."""


CacheT = TypeVar("CacheT", bound=StepCache)


class StepModel(Protocol[CacheT]):
    """A model to search over, already in inference mode (no dropout)."""

    @property
    def vocabulary(self) -> int:
        """The number of target ids."""

    def start(self, source_BS: Tensor) -> CacheT:
        """Encode the sources; every sentence starts with one empty hypothesis."""

    def step(self, ids_BW: Tensor, cache: CacheT) -> Tensor:
        """Take the newest id of every hypothesis; return log_probs_BWV of the next, which the caller may overwrite."""


class ForcedModel(Protocol):
    """A model that predicts all positions of a given target at once."""

    def log_probs(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """log_probs_BTV of the id after each decoder input; `target_BT` starts with BOS."""
