"""Beam search for translations that contain given terms: grid beam search.

Hokamp and Liu 2017, "Lexically Constrained Decoding for Sequence Generation Using Grid Beam Search". Hypotheses are
kept apart by how many ids of the terms they have met: the best `beam_size` of each count survive. Every step looks at
the usual continuations and at those that bring a term further. A hypothesis may end when it has all terms.

Where does a term belong? By probability alone, a term that the model does not expect is as good at the end as in its
place. So a term is only begun where the model looks at its source, more than at other words, and never where the model
would rather end. If no translation is found in this way, a term may be begun anywhere.

Which translation is best? The mean log-probability rewards those that dilute a costly term with more words, the sum
those that leave words out. GNMT's penalty, with its alpha of 0.6, is between them and ranks these translations whatever
the settings say. The search ends when nothing that still grows is worth more than what is to be returned.
Dimension key: vitrail/model/__init__.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, inf
from typing import TypeVar

import torch
from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode.hypothesis import Hypothesis, length_penalty
from vitrail.decode.look import MeanLook
from vitrail.decode.request import Request, rectangle, refuse_broken
from vitrail.decode.step import CacheT, StepModel
from vitrail.decode.terms import NOWHERE, Progress, Terms
from vitrail.decode.top import best_of
from vitrail.text.special import BOS, EOS, PAD

RowT = TypeVar("RowT")
_RANKED = DecodeConfig(penalty="gnmt", alpha=0.6)


@dataclass(frozen=True)
class Partial:
    """A hypothesis that is still growing, and the one that it continues."""

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    total: float
    progress: Progress
    parent: int = 0

    def grown(self, token_id: int, log_prob: float, parent: int, terms: Terms) -> Partial:
        """The hypothesis with one more id."""
        ids = (*self.ids, token_id)
        progress = self.progress if token_id == EOS else terms.progress(ids)
        return Partial(ids, (*self.log_probs, log_prob), self.total + log_prob, progress, parent)

    @property
    def ends(self) -> bool:
        """Whether this is a whole translation."""
        return self.ids[-1:] == (EOS,)


@dataclass
class Grid:
    """The search for one sentence."""

    sentence: int  # its number in the request
    terms: Terms
    limit: int
    live: list[Partial]
    complete: list[Hypothesis]

    def take(self, candidates: Sequence[Partial], step: int, config: DecodeConfig) -> bool:
        """Decide what survives; return whether the search is over."""
        is_last = step >= self.limit
        self.live = []
        for count in sorted({one.progress.met for one in candidates}):
            alike = sorted((one for one in candidates if one.progress.met == count), key=lambda one: -one.total)
            for one in alike[: config.beam_size]:
                if one.progress.is_complete and (one.ends or is_last):
                    self.complete.append(Hypothesis.from_row(one.ids, one.log_probs, config))
            self.live += [one for one in alike if not one.ends][: config.beam_size]
        if is_last or not self.live:
            return True
        best = self.best(config.top_beams)
        if len(best) < config.top_beams:
            return False
        return max(worth(one.total, step) for one in self.live) <= worth(fsum(best[-1].log_probs), len(best[-1].row))

    def best(self, count: int) -> list[Hypothesis]:
        """The complete translations that are worth most; ties keep the order of completion."""
        return sorted(self.complete, key=lambda one: -worth(fsum(one.log_probs), len(one.row)))[:count]


def worth(total: float, length: int) -> float:
    """What a translation with terms is ranked by."""
    return total / length_penalty(length, _RANKED)


def constrained_search(
    model: StepModel[CacheT],
    request: Request,
    terms: Sequence[Terms],
    config: DecodeConfig,
    look: MeanLook | None = None,
) -> list[list[Hypothesis]]:
    """The complete hypotheses of each sentence, best first, at most `top_beams`; none if its terms cannot be met.

    With `look`, which gives weights_BTS, terms are begun only where they are looked at.
    """
    grids = [
        Grid(number, one, limit, [Partial((), (), 0.0, one.progress(()))], [])
        for number, (one, limit) in enumerate(zip(terms, request.limits_B.tolist(), strict=True))
    ]
    every = tuple(grids)
    cache = model.start(request.source_BS())
    step = 0
    while grids:
        step += 1
        ids_BWT = _texts(grids)
        log_probs_BWV = model.step(ids_BWT[:, :, -1], cache)
        request.restrict(log_probs_BWV, torch.tensor([grid.sentence for grid in grids]), ids_BWT)
        looked = None if look is None else _looked_at(look, request, grids, ids_BWT)
        candidates = _candidates(grids, log_probs_BWV, looked, config)
        over = [grid.take(ones, step, config) for grid, ones in zip(grids, candidates, strict=True)]
        rows = [row for row, is_over in enumerate(over) if not is_over]
        grids = [grids[row] for row in rows]
        if grids:
            cache.keep(torch.tensor(rows))
            # Sentences with fewer hypotheses than the others repeat their first one, which is then left alone.
            cache.reorder(torch.tensor(_as_wide([[one.parent for one in grid.live] for grid in grids])))
    return [grid.best(config.top_beams) for grid in every]


def _texts(grids: Sequence[Grid]) -> Tensor:
    """What every hypothesis has so far, behind BOS."""
    return torch.tensor(_as_wide([[[BOS, *one.ids] for one in grid.live] for grid in grids]))


def _as_wide(rows: list[list[RowT]]) -> list[list[RowT]]:
    widest = max(map(len, rows))
    return [[*row, *[row[0]] * (widest - len(row))] for row in rows]


def _looked_at(look: MeanLook, request: Request, grids: Sequence[Grid], ids_BWT: Tensor) -> dict[tuple[int, int], int]:
    """The position of the source's text that the next id looks at most, for hypotheses that may begin a term."""
    asking = [(row, w) for row, grid in enumerate(grids) for w, one in enumerate(grid.live) if one.progress.beginning]
    if not asking:
        return {}
    rows, places = (torch.tensor(one) for one in zip(*asking, strict=True))
    source_BS = rectangle([request.sources[grid.sentence] for grid in grids], fill=PAD)
    looked_NS = look(source_BS, ids_BWT[rows, places], rows)[:, -1]
    texts = [grids[row].terms.text for row, _ in asking]
    best = [int(looked_S[list(text)].argmax()) for text, looked_S in zip(texts, looked_NS, strict=True)]
    return {asked: text[place] for asked, text, place in zip(asking, texts, best, strict=True)}


def _candidates(
    grids: Sequence[Grid], log_probs_BWV: Tensor, looked: dict[tuple[int, int], int] | None, config: DecodeConfig
) -> list[list[Partial]]:
    """The continuations to consider, by sentence, without those that may not be."""
    values_BWC, ids_BWC = best_of(log_probs_BWV, min(2 * config.beam_size, log_probs_BWV.size(-1)))
    refuse_broken(values_BWC[..., 0])
    best = zip(ids_BWC.tolist(), values_BWC.tolist(), strict=True)
    made: list[list[Partial]] = []
    for row, (grid, (ids_WC, values_WC)) in enumerate(zip(grids, best, strict=True)):
        ones: list[Partial] = []
        for place, live in enumerate(grid.live):
            is_over = ids_WC[place][0] == EOS and not live.progress.is_complete
            chosen = {} if is_over else dict(zip(ids_WC[place], values_WC[place], strict=True))
            nowhere = None if looked is None else NOWHERE
            here = None if looked is None else looked.get((row, place), NOWHERE)
            wanted = live.progress.wanted(nowhere if is_over else here)
            more = sorted(wanted.difference(chosen))
            chosen |= dict(zip(more, log_probs_BWV[row, place, more].tolist(), strict=True))
            ones += [
                live.grown(token_id, value, place, grid.terms)
                for token_id, value in chosen.items()
                if value > -inf and (token_id != EOS or live.progress.is_complete)
            ]
        made.append(ones)
    return made
