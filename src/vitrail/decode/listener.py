"""Who wants to know how a search went: told of every step, asked for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from torch import Tensor

if TYPE_CHECKING:
    from vitrail.decode.beam import Candidates, Decision, Live
    from vitrail.decode.sampling import Draws


class SearchListener(Protocol):
    """Hears each step of a search once it is decided; with no listener a search does nothing for one."""

    def searched(self, step: int, live: Live, candidates: Candidates, decision: Decision, done_B: Tensor) -> None:
        """Beam search looked at the candidates that continue `live`; `done` is True where a sentence's search ends."""

    def drew(self, step: int, before: Draws, after: Draws, log_probs_BWV: Tensor, chances_BWV: Tensor) -> None:
        """Sampling drew the newest ids of `after` from these chances; `log_probs` are the model's own."""
