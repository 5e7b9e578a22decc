"""The entry point of decoding: check the request, then run beam search or sampling."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from vitrail.config import DecodeConfig
from vitrail.decode.beam import beam_search
from vitrail.decode.hypothesis import Hypothesis
from vitrail.decode.listener import SearchListener
from vitrail.decode.request import Request
from vitrail.decode.sampling import sample
from vitrail.decode.step import CacheT, StepModel


def search(
    model: StepModel[CacheT],
    sources: Sequence[Sequence[int]],
    config: DecodeConfig,
    *,
    forbidden: Sequence[int] = (),
    prefixes: Sequence[Sequence[int]] | None = None,
    shortlists: Sequence[Sequence[int]] | None = None,
    max_positions: int | None = None,
    listener: SearchListener | None = None,
) -> list[list[Hypothesis]]:
    """Translate one batch of source rows (EOS included). Each gets its hypotheses, best first, or its draws in order.

    `forbidden` ids are never generated; `prefixes` are the ids that each translation must begin with; `shortlists`
    are the only ids that each may contain. At most `max_positions` ids are generated, whatever the source's length. A
    `listener` receives every step.
    """
    assert not getattr(model, "training", False), "the model is in training mode, with dropout: call eval() first"
    if not sources:
        return []
    request = Request.check(
        sources,
        vocabulary=model.vocabulary,
        forbidden=forbidden,
        prefixes=prefixes,
        shortlists=shortlists,
        max_extra=config.max_extra,
        max_positions=max_positions,
    )
    with torch.inference_mode():
        if config.sample:
            return sample(model, request, config, listener)
        return beam_search(model, request, config, listener)
