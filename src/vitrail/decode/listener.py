"""The interface for observing a search. A listener sees every step and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from torch import Tensor

if TYPE_CHECKING:
    from vitrail.decode.beam import Candidates, Decision, Live
    from vitrail.decode.sampling import Draws


class SearchListener(Protocol):
    """Receives each step of a search after its decision. Without a listener, a search has no extra cost."""

    def searched(self, step: int, live: Live, candidates: Candidates, decision: Decision, done_B: Tensor) -> None:
        """Beam search decided on the candidates that extend `live`; `done` is True for sentences whose search ends."""

    def drew(self, step: int, before: Draws, after: Draws, log_probs_BWV: Tensor, chances_BWV: Tensor) -> None:
        """Sampling drew the newest ids of `after` with these probabilities; `log_probs` are the model's own."""
