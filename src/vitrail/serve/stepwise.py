"""A translation while it is searched for: what every step of a greedy search adds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from vitrail.decode.beam import Candidates, Decision, Live
from vitrail.decode.sampling import Draws
from vitrail.text import EOS, Tokenizers


class Stepwise:
    """Listens to the greedy search, or to the only draw, for one sentence."""

    def __init__(self, tokenizers: Tokenizers, emit: Callable[[dict[str, Any]], None]) -> None:
        self.tokenizers = tokenizers
        self.emit = emit

    def searched(self, step: int, live: Live, candidates: Candidates, decision: Decision, done_B: Tensor) -> None:
        """The best continuation was chosen."""
        self._send(live.ids_BWT[0, 0, 1:].tolist(), int(candidates.ids_BC[0, 0]), float(candidates.log_probs_BC[0, 0]))

    def drew(self, step: int, before: Draws, after: Draws, log_probs_BWV: Tensor, chances_BWV: Tensor) -> None:
        """A token was drawn."""
        newest = int(after.ids_BWT[0, 0, -1])
        self._send(before.ids_BWT[0, 0, 1:].tolist(), newest, float(log_probs_BWV[0, 0, newest]))

    def _send(self, past: list[int], newest: int, log_prob: float) -> None:
        if newest != EOS:
            ids = [*past, newest]
            token = self.tokenizers.tokens([newest])[0]
            self.emit({"token": token, "log_prob": log_prob, "text": self.tokenizers.decode(ids)})
