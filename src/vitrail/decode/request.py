"""What one batch of a search is asked: sources, limits, and which ids may come where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Self

import torch
from torch import Tensor

from vitrail.errors import DecodeError
from vitrail.text.special import EOS, PAD

_FREE = -1  # marks, in a table of forced ids, a place where the search chooses


@dataclass(frozen=True)
class Request:
    """One batch to search. Steps count from 1: step t chooses the t-th generated id."""

    sources: tuple[tuple[int, ...], ...]
    limits_B: Tensor  # how many ids may be generated, EOS included
    forbidden: Tensor  # ids that no translation may contain
    forced_BT: Tensor  # the id at each step of a forced prefix, _FREE after it

    @classmethod
    def check(
        cls,
        sources: Sequence[Sequence[int]],
        *,
        vocabulary: int,
        forbidden: Sequence[int],
        prefixes: Sequence[Sequence[int]] | None,
        max_extra: int,
        max_positions: int | None,
    ) -> Self:
        """A request that can be met; anything else is refused."""
        assert EOS not in forbidden, "a translation must be able to end"
        assert all(sources), "a source row has at least EOS"
        # A limit per sentence: one per batch would let a long neighbour change a translation.
        limits = [len(row) + max_extra for row in sources]
        if max_positions is not None:
            limits = [min(limit, max_positions) for limit in limits]
        if prefixes is not None:
            _check_prefixes(prefixes, limits, vocabulary, frozenset(forbidden))
        return cls(
            sources=tuple(tuple(row) for row in sources),
            limits_B=torch.tensor(limits, dtype=torch.long),
            forbidden=torch.tensor(forbidden, dtype=torch.long),
            forced_BT=rectangle(prefixes, fill=_FREE) if prefixes else torch.empty(len(sources), 0, dtype=torch.long),
        )

    def source_BS(self) -> Tensor:
        """The sources as the model reads them."""
        return rectangle(self.sources, fill=PAD)

    def restrict(self, log_probs_BWV: Tensor, sentence_B: Tensor, step: int) -> Tensor:
        """Rule out, in place, what may not be generated at this step by the sentences that are still searched.

        Nothing is renormalised: what is left keeps the log-probability that the model gave it.
        """
        if len(self.forbidden):
            log_probs_BWV.index_fill_(-1, self.forbidden.to(log_probs_BWV.device), -inf)
        if step <= self.forced_BT.size(1):
            forced_B11 = self.forced_BT[sentence_B, step - 1, None, None].to(log_probs_BWV.device)
            ids_V = torch.arange(log_probs_BWV.size(-1), device=log_probs_BWV.device)
            log_probs_BWV.masked_fill_((forced_B11 != _FREE) & (forced_B11 != ids_V), -inf)
        return log_probs_BWV


def rectangle(rows: Sequence[Sequence[int]], *, fill: int) -> Tensor:
    """Rows of different lengths as one tensor, filled up on the right."""
    longest = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows], dtype=torch.long)


def refuse_broken(best: Tensor) -> None:
    """Stop where a model's largest log-probability is not a number: no search could make sense of it."""
    if best.isnan().any():
        raise DecodeError(
            "the model's predictions are not numbers",
            fix="its weights are damaged, or its training diverged: use an earlier checkpoint",
        )


def _check_prefixes(
    prefixes: Sequence[Sequence[int]], limits: Sequence[int], vocabulary: int, forbidden: frozenset[int]
) -> None:
    assert len(prefixes) == len(limits), "one prefix for each source, which may be empty"
    for number, (prefix, limit) in enumerate(zip(prefixes, limits, strict=True), start=1):
        where = f"sentence {number}"
        for token_id in prefix:
            if not 0 <= token_id < vocabulary:
                raise DecodeError(
                    f"the prefix contains id {token_id}, but there are only {vocabulary}",
                    where=where,
                    fix="make the prefix with this model's own vocabulary",
                )
            if token_id == EOS or token_id in forbidden:
                raise DecodeError(
                    f"the prefix contains id {token_id}, which no translation may contain",
                    where=where,
                    fix="leave special symbols, and words the model does not know, out of the prefix",
                )
        if len(prefix) > limit:
            raise DecodeError(
                f"the prefix has {len(prefix)} tokens, but the translation may have at most {limit}",
                where=where,
                fix="shorten the prefix, or raise max_extra",
            )
