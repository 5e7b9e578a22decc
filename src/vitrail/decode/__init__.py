"""Search over a model's predictions: greedy, beam, sampling. Ids only, never text."""

from vitrail.decode.batching import BATCH_TOKENS, batches, in_batches, score_all, search_all
from vitrail.decode.forced import score
from vitrail.decode.hypothesis import Hypothesis, length_penalty
from vitrail.decode.listener import SearchListener
from vitrail.decode.search import search
from vitrail.decode.step import ForcedModel, StepCache, StepModel

__all__ = [
    "BATCH_TOKENS",
    "ForcedModel",
    "Hypothesis",
    "SearchListener",
    "StepCache",
    "StepModel",
    "batches",
    "in_batches",
    "length_penalty",
    "score",
    "score_all",
    "search",
    "search_all",
]
