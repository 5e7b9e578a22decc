"""Beam search, as the post describes it: keep a few partial translations and extend the best of them.

Dimension key: vitrail/model/__init__.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from vitrail.config import DecodeConfig
from vitrail.decode.hypothesis import Hypothesis, ranked
from vitrail.decode.listener import SearchListener
from vitrail.decode.request import Request, refuse_broken
from vitrail.decode.step import CacheT, StepModel
from vitrail.decode.top import best_of
from vitrail.errors import DecodeError
from vitrail.text.special import BOS, EOS


@dataclass(frozen=True)
class Live:
    """The hypotheses that are still growing; a total of -inf marks an empty slot."""

    sentence_B: Tensor  # which sentence of the request each row is
    ids_BWT: Tensor  # begins with BOS
    log_probs_BWT: Tensor  # of each id; BOS was given, so its own is 0
    totals_BW: Tensor  # their sums, in float64

    @classmethod
    def begin(cls, sentences: int) -> Live:
        """One empty hypothesis for each sentence."""
        return cls(
            sentence_B=torch.arange(sentences),
            ids_BWT=torch.full((sentences, 1, 1), BOS),
            log_probs_BWT=torch.zeros(sentences, 1, 1),
            totals_BW=torch.zeros(sentences, 1, dtype=torch.float64),
        )

    def keep(self, rows: Tensor) -> Live:
        """Keep only these sentences."""
        return Live(self.sentence_B[rows], self.ids_BWT[rows], self.log_probs_BWT[rows], self.totals_BW[rows])


@dataclass(frozen=True)
class Candidates:
    """The best continuations of every sentence, best first."""

    totals_BC: Tensor
    parents_BC: Tensor  # which live hypothesis is continued …
    ids_BC: Tensor  # … by which id
    log_probs_BC: Tensor

    def keep(self, rows: Tensor) -> Candidates:
        """Keep only these sentences."""
        return Candidates(self.totals_BC[rows], self.parents_BC[rows], self.ids_BC[rows], self.log_probs_BC[rows])


@dataclass(frozen=True)
class Decision:
    """What happens to the candidates: some are set aside as complete, some survive, the others are dropped."""

    set_aside_BC: Tensor  # True: a complete translation
    survivors_BW: Tensor  # the ranks of the candidates to extend, best first
    filled_BW: Tensor  # False: an empty slot, no candidate was left for it


def beam_search(
    model: StepModel[CacheT], request: Request, config: DecodeConfig, listener: SearchListener | None = None
) -> list[list[Hypothesis]]:
    """The complete hypotheses of each sentence, best first, at most `top_beams`."""
    complete: list[list[Hypothesis]] = [[] for _ in request.sources]
    live = Live.begin(len(request.sources))
    cache = model.start(request.source_BS())
    step = 0
    while live.sentence_B.size(0):
        step += 1
        log_probs_BWV = model.step(live.ids_BWT[:, :, -1], cache)
        request.restrict(log_probs_BWV, live.sentence_B, live.ids_BWT)
        candidates = best_continuations(live.totals_BW, log_probs_BWV, 2 * config.beam_size)
        is_last_B = request.limits_B[live.sentence_B] <= step
        decision = decide(candidates, is_last_B, config.beam_size)

        _set_aside(complete, live, candidates, decision, config)
        done_B = is_last_B | ~decision.filled_BW[:, 0]
        if decision.set_aside_BC.any():
            done_B |= torch.tensor([len(complete[s]) >= config.beam_size for s in live.sentence_B.tolist()])
        if listener is not None:
            listener.searched(step, live, candidates, decision, done_B)
        if done_B.any():
            rows = remaining(done_B)
            if not rows.size(0):
                break
            cache.keep(rows)
            live, candidates = live.keep(rows), candidates.keep(rows)
            decision = Decision(decision.set_aside_BC[rows], decision.survivors_BW[rows], decision.filled_BW[rows])
        live, parent_BW = advance(live, candidates, decision)
        cache.reorder(parent_BW)
    return [_best(hypotheses, config.top_beams) for hypotheses in complete]


def best_continuations(totals_BW: Tensor, log_probs_BWV: Tensor, count: int) -> Candidates:
    """The `count` best continuations of all live hypotheses. Ties go to the lower hypothesis, then the lower id."""
    values_BWC, ids_BWC = best_of(log_probs_BWV, min(count, log_probs_BWV.size(-1)))
    refuse_broken(values_BWC[..., 0])
    sums = (totals_BW[..., None] + values_BWC).flatten(1)
    order = sums.sort(dim=1, descending=True, stable=True).indices[:, :count]
    return Candidates(
        totals_BC=sums.gather(1, order),
        parents_BC=order // values_BWC.size(-1),
        ids_BC=ids_BWC.flatten(1).gather(1, order),
        log_probs_BC=values_BWC.flatten(1).gather(1, order),
    )


def decide(candidates: Candidates, is_last_B: Tensor, beam_size: int) -> Decision:
    """The search rule for one step.

    Among the best `beam_size` candidates, those that end are set aside; at a sentence's last step, all of them. The
    best `beam_size` that do not end survive. A candidate that ends further down the list is dropped.
    """
    possible_BC = candidates.totals_BC > -inf
    ends_BC = candidates.ids_BC == EOS
    complete_BC = possible_BC & (ends_BC | is_last_B[:, None])
    complete_BC[:, beam_size:] = False
    goes_on_BC = possible_BC & ~ends_BC
    # A stable sort of "does not go on" puts those that do first and keeps their order.
    survivors_BW = (~goes_on_BC).sort(dim=1, stable=True).indices[:, :beam_size]
    return Decision(complete_BC, survivors_BW, goes_on_BC.gather(1, survivors_BW))


def remaining(done_B: Tensor) -> Tensor:
    """The rows of the sentences that go on. The last of them fill the gaps, so that the others need not move."""
    rows = (~done_B).nonzero().squeeze(1)
    count = rows.size(0)
    gaps, last = done_B[:count].nonzero().squeeze(1), rows[rows >= count]
    return torch.arange(count).index_copy_(0, gaps, last)


def advance(live: Live, candidates: Candidates, decision: Decision) -> tuple[Live, Tensor]:
    """The survivors as the new live hypotheses, and the old hypothesis that each one extends."""
    parent_BW = candidates.parents_BC.gather(1, decision.survivors_BW)
    # Empty slots are fed EOS: some id must go through the model, and every vocabulary has this one.
    ids_BW = candidates.ids_BC.gather(1, decision.survivors_BW).masked_fill(~decision.filled_BW, EOS)
    totals_BW = candidates.totals_BC.gather(1, decision.survivors_BW).masked_fill(~decision.filled_BW, -inf)
    log_probs_BW = candidates.log_probs_BC.gather(1, decision.survivors_BW)
    grown = Live(
        sentence_B=live.sentence_B,
        ids_BWT=torch.cat([_follow(live.ids_BWT, parent_BW), ids_BW[..., None]], dim=2),
        log_probs_BWT=torch.cat([_follow(live.log_probs_BWT, parent_BW), log_probs_BW[..., None]], dim=2),
        totals_BW=totals_BW,
    )
    return grown, parent_BW


def _follow(past: Tensor, parent_BW: Tensor) -> Tensor:
    """The past of each hypothesis's parent; there may have been fewer hypotheses, or more."""
    return past.gather(1, parent_BW[..., None].expand(-1, -1, past.size(2)))


def _set_aside(
    complete: list[list[Hypothesis]], live: Live, candidates: Candidates, decision: Decision, config: DecodeConfig
) -> None:
    """Add the complete candidates as hypotheses to their sentences' lists."""
    rows, ranks = decision.set_aside_BC.nonzero(as_tuple=True)
    if not rows.size(0):
        return
    parents = candidates.parents_BC[rows, ranks]
    past_ids = live.ids_BWT[rows, parents, 1:]  # without BOS
    past_log_probs = live.log_probs_BWT[rows, parents, 1:]
    ids = torch.cat([past_ids, candidates.ids_BC[rows, ranks, None]], dim=1).tolist()
    log_probs = torch.cat([past_log_probs, candidates.log_probs_BC[rows, ranks, None]], dim=1).tolist()
    for sentence, row, values in zip(live.sentence_B[rows].tolist(), ids, log_probs, strict=True):
        complete[sentence].append(Hypothesis.from_row(row, values, config))


def _best(hypotheses: list[Hypothesis], count: int) -> list[Hypothesis]:
    if not hypotheses:
        raise DecodeError(
            "the model gives no translation any probability",
            fix="check the forced prefix and the forbidden ids",
        )
    return ranked(hypotheses)[:count]
