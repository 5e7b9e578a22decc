"""Search over a model's predictions: greedy, beam, sampling. Ids only, never text."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vitrail.decode.batching import BATCH_TOKENS as BATCH_TOKENS
    from vitrail.decode.batching import begin_all as begin_all
    from vitrail.decode.batching import in_batches as in_batches
    from vitrail.decode.batching import score_all as score_all
    from vitrail.decode.entry import search as search
    from vitrail.decode.forced import score as score
    from vitrail.decode.grouping import batches as batches
    from vitrail.decode.hypothesis import Hypothesis as Hypothesis
    from vitrail.decode.hypothesis import length_limit as length_limit
    from vitrail.decode.hypothesis import length_penalty as length_penalty
    from vitrail.decode.listener import SearchListener as SearchListener
    from vitrail.decode.step import ForcedModel as ForcedModel
    from vitrail.decode.step import StepCache as StepCache
    from vitrail.decode.step import StepModel as StepModel

# Imported on first use: an engine that does not need torch uses `grouping` and `hypothesis` alone.
_HOMES = {
    "BATCH_TOKENS": "batching",
    "ForcedModel": "step",
    "Hypothesis": "hypothesis",
    "SearchListener": "listener",
    "StepCache": "step",
    "StepModel": "step",
    "batches": "grouping",
    "begin_all": "batching",
    "in_batches": "batching",
    "length_limit": "hypothesis",
    "length_penalty": "hypothesis",
    "score": "forced",
    "score_all": "batching",
    "search": "entry",
}
__all__ = [
    "BATCH_TOKENS",
    "ForcedModel",
    "Hypothesis",
    "SearchListener",
    "StepCache",
    "StepModel",
    "batches",
    "begin_all",
    "in_batches",
    "length_limit",
    "length_penalty",
    "score",
    "score_all",
    "search",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vitrail.decode' has no attribute '{name}'")
    return getattr(import_module(f"vitrail.decode.{_HOMES[name]}"), name)
