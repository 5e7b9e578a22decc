"""The entry point of decoding: check the request, then run beam search or sampling."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from vitrail.config import DecodeConfig
from vitrail.decode.beam import beam_search
from vitrail.decode.constrained import constrained_search
from vitrail.decode.hypothesis import Hypothesis
from vitrail.decode.listener import SearchListener
from vitrail.decode.look import MeanLook
from vitrail.decode.request import Request
from vitrail.decode.rule import Rule
from vitrail.decode.sampling import sample
from vitrail.decode.step import CacheT, StepModel
from vitrail.decode.terms import Terms, are_asked


def search(
    model: StepModel[CacheT],
    sources: Sequence[Sequence[int]],
    config: DecodeConfig,
    *,
    forbidden: Sequence[int] = (),
    prefixes: Sequence[Sequence[int]] | None = None,
    shortlists: Sequence[Sequence[int]] | None = None,
    rule: Rule | None = None,
    terms: Sequence[Terms | None] | None = None,
    look: MeanLook | None = None,
    max_positions: int | None = None,
    listener: SearchListener | None = None,
) -> list[list[Hypothesis]]:
    """Translate one batch of source rows (EOS included). Each gets its hypotheses, best first, or its draws in order.

    `forbidden` ids are never generated; `prefixes` are the ids that each translation must begin with; `shortlists`
    are the only ids that each may contain; `rule` excludes ids by what precedes them; `terms` are what each must
    contain, if that is possible within its limit, begun where `look` says that they are looked at. At most
    `max_positions` ids are generated, whatever the source's length. A `listener` receives every step.
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
        rule=rule,
        max_extra=config.max_extra,
        max_positions=max_positions,
    )
    with torch.inference_mode():
        if config.sample:
            return sample(model, request, config, listener)
        if terms is not None and are_asked(terms):
            assert listener is None, "nobody listens to a search for terms"
            return _search_for_terms(model, request, terms, config, look)
        return beam_search(model, request, config, listener)


def _search_for_terms(
    model: StepModel[CacheT],
    request: Request,
    terms: Sequence[Terms | None],
    config: DecodeConfig,
    look: MeanLook | None,
) -> list[list[Hypothesis]]:
    """Sentences with terms are searched for translations that have them where they belong, else anywhere.

    If there are none, they are searched as the others are.
    """
    limits = request.limits_B.tolist()
    asked = {n: one for n, one in enumerate(terms) if one is not None and one.shortest <= limits[n]}
    found: dict[int, list[Hypothesis]] = {}
    for way in (None,) if look is None else (look, None):
        left = [number for number in asked if number not in found]
        if left:
            with_terms = constrained_search(model, request.of(left), [asked[number] for number in left], config, way)
            found |= {number: ones for number, ones in zip(left, with_terms, strict=True) if ones}
    others = [number for number in range(len(terms)) if number not in found]
    if others:
        found.update(zip(others, beam_search(model, request.of(others), config), strict=True))
    return [found[number] for number in range(len(terms))]
