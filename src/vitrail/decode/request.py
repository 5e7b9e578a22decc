"""One batch to search: sources, length limits, forbidden ids, shortlists and forced prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Self

import numpy as np
import torch
from torch import Tensor

from vitrail.decode.hypothesis import length_limit
from vitrail.decode.rule import Rule
from vitrail.errors import DecodeError
from vitrail.text.special import EOS, PAD

_FREE = -1  # in a table of forced ids: the search chooses here


@dataclass(frozen=True)
class Request:
    """One batch to search. Steps count from 1: step t chooses the t-th generated id."""

    sources: tuple[tuple[int, ...], ...]
    limits_B: Tensor  # the most ids to generate, EOS included
    forbidden: Tensor  # ids that no translation may contain
    forced_BT: Tensor  # the id at each step of a forced prefix, _FREE after it
    listed_BV: Tensor | None = None  # True: the id is in the sentence's shortlist; None: there are no shortlists
    rule: Rule | None = None  # what else may not be generated, depending on what was

    @classmethod
    def check(
        cls,
        sources: Sequence[Sequence[int]],
        *,
        vocabulary: int,
        forbidden: Sequence[int],
        prefixes: Sequence[Sequence[int]] | None,
        shortlists: Sequence[Sequence[int]] | None = None,
        rule: Rule | None = None,
        max_extra: int,
        max_positions: int | None,
    ) -> Self:
        """Build a request, or raise an error if it cannot be met."""
        assert EOS not in forbidden, "a translation must be able to end"
        assert all(sources), "a source row has at least EOS"
        limits = [length_limit(row, max_extra, max_positions) for row in sources]
        if prefixes is not None:
            _check_prefixes(prefixes, limits, vocabulary, frozenset(forbidden))
        return cls(
            sources=tuple(tuple(row) for row in sources),
            limits_B=torch.tensor(limits, dtype=torch.long),
            forbidden=torch.tensor(forbidden, dtype=torch.long),
            forced_BT=rectangle(prefixes, fill=_FREE) if prefixes else torch.empty(len(sources), 0, dtype=torch.long),
            listed_BV=None if shortlists is None else _listed(shortlists, prefixes, vocabulary),
            rule=rule,
        )

    def of(self, sentences: Sequence[int]) -> Request:
        """The same for some of the sentences."""
        rows = torch.tensor(sentences, dtype=torch.long)
        return replace(
            self,
            sources=tuple(self.sources[number] for number in sentences),
            limits_B=self.limits_B[rows],
            forced_BT=self.forced_BT[rows],
            listed_BV=None if self.listed_BV is None else self.listed_BV[rows],
        )

    def source_BS(self) -> Tensor:
        """The sources as the model reads them."""
        return rectangle(self.sources, fill=PAD)

    def restrict(self, log_probs_BWV: Tensor, sentence_B: Tensor, ids_BWT: Tensor) -> Tensor:
        """Set the log-probabilities of ids that may not follow `ids` (which begin with BOS) to -inf, in place.

        The others keep the model's log-probabilities, with one exception: a shortlist stands for the whole vocabulary,
        so its log-probabilities are normalised over the shortlist.
        """
        step = ids_BWT.size(2)
        if self.listed_BV is not None:
            listed_B1V = self.listed_BV[sentence_B, None].to(log_probs_BWV.device)
            log_probs_BWV.masked_fill_(~listed_B1V, -inf)
            log_probs_BWV.sub_(log_probs_BWV.logsumexp(-1, keepdim=True))
        if len(self.forbidden):
            log_probs_BWV.index_fill_(-1, self.forbidden.to(log_probs_BWV.device), -inf)
        if step <= self.forced_BT.size(1):
            forced_B11 = self.forced_BT[sentence_B, step - 1, None, None].to(log_probs_BWV.device)
            ids_V = torch.arange(log_probs_BWV.size(-1), device=log_probs_BWV.device)
            log_probs_BWV.masked_fill_((forced_B11 != _FREE) & (forced_B11 != ids_V), -inf)
        if self.rule is not None:
            log_probs_BWV.masked_fill_(~_allowed(self.rule, ids_BWT).to(log_probs_BWV.device), -inf)
        return log_probs_BWV


def rectangle(rows: Sequence[Sequence[int]], *, fill: int) -> Tensor:
    """Rows of different lengths as one tensor, padded on the right with `fill`."""
    longest = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows], dtype=torch.long)


def _allowed(rule: Rule, ids_BWT: Tensor) -> Tensor:
    """Which ids may follow each text. A text that has ended is not asked about."""
    rows = [row[1:] for rows in ids_BWT.tolist() for row in rows]
    found = [rule.allowed([] if EOS in row else row) for row in rows]
    return torch.from_numpy(np.stack(found)).view(*ids_BWT.shape[:2], -1)


def _listed(shortlists: Sequence[Sequence[int]], prefixes: Sequence[Sequence[int]] | None, vocabulary: int) -> Tensor:
    """Which ids each sentence may generate: those of its shortlist and of its prefix."""
    assert all(EOS in shortlist for shortlist in shortlists), "a translation must be able to end"
    listed_BV = torch.zeros(len(shortlists), vocabulary, dtype=torch.bool)
    for number, (shortlist, prefix) in enumerate(zip(shortlists, prefixes or [()] * len(shortlists), strict=True)):
        listed_BV[number, torch.tensor([*shortlist, *prefix])] = True
    return listed_BV


def refuse_broken(best: Tensor) -> None:
    """Raise an error if a model's largest log-probability is NaN: no search could use it."""
    if best.isnan().any():
        raise DecodeError(
            "the model's predictions are not numbers (NaN)",
            fix="its weights are damaged, or its training diverged: use an earlier checkpoint",
        )


def _check_prefixes(
    prefixes: Sequence[Sequence[int]], limits: Sequence[int], vocabulary: int, forbidden: frozenset[int]
) -> None:
    assert len(prefixes) == len(limits), "one prefix, possibly empty, for each source"
    for number, (prefix, limit) in enumerate(zip(prefixes, limits, strict=True), start=1):
        where = f"sentence {number}"
        for token_id in prefix:
            if not 0 <= token_id < vocabulary:
                raise DecodeError(
                    f"the prefix contains id {token_id}, but the vocabulary has only {vocabulary} ids",
                    where=where,
                    fix="encode the prefix with this model's own vocabulary",
                )
            if token_id == EOS or token_id in forbidden:
                raise DecodeError(
                    f"the prefix contains id {token_id}, which no translation may contain",
                    where=where,
                    fix="remove special symbols and unknown words from the prefix",
                )
        if len(prefix) > limit:
            raise DecodeError(
                f"the prefix has {len(prefix)} tokens, but the translation may have at most {limit}",
                where=where,
                fix="shorten the prefix, or raise max_extra",
            )
