"""What a search needs of a model: ids in, log-probabilities out, one step at a time."""

from __future__ import annotations

from typing import Protocol, TypeVar

from torch import Tensor


class StepCache(Protocol):
    """What a model remembers between steps: for every sentence, the keys and values of its hypotheses."""

    def reorder(self, parent_BW: Tensor) -> None:
        """Let hypothesis w of sentence b continue former hypothesis `parent_BW[b, w]`; W may differ from before."""

    def keep(self, rows: Tensor) -> None:
        """Go on with these sentences only."""


CacheT = TypeVar("CacheT", bound=StepCache)


class StepModel(Protocol[CacheT]):
    """A model to search over, already in its inference state (no dropout)."""

    @property
    def vocabulary(self) -> int:
        """How many target ids there are."""

    def start(self, source_BS: Tensor) -> CacheT:
        """Read the sources; every sentence begins with one hypothesis and nothing generated."""

    def step(self, ids_BW: Tensor, cache: CacheT) -> Tensor:
        """Take the newest id of every hypothesis; give log_probs_BWV of the next, which the caller may overwrite."""


class ForcedModel(Protocol):
    """A model that predicts all positions of a given target at once."""

    def log_probs(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """log_probs_BTV of what follows each decoder input; `target_BT` starts with BOS."""
