"""Ids: a Marian vocabulary in the order of ours. Padding, unknown, start and end come first, then the languages.

Marian starts a translation with the symbol for padding. Ours are two symbols: its row becomes that of `<bos>`, and
`<pad>` gets zeros. Neither may have any probability: the original program's models have no such symbol, and in
transformers it would take a large part of it (folders of OPUS-MT therefore set `renormalize_logits`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vitrail.text.special import BOS, FIRST_LANGUAGE, PAD

if TYPE_CHECKING:
    from torch import Tensor

NEVER = -1000.0  # a logit of no probability at all in float32
LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}")  # as in the settings
_CODE = re.compile(rf">>({LANGUAGE.pattern})<<")


def languages_of(tokens: Sequence[str]) -> tuple[str, ...]:
    """The languages of the codes in a vocabulary: `>>fra<<` is "fra"."""
    return tuple(found[1] for token in tokens if (found := _CODE.fullmatch(token)))


def code_of(language: str) -> str:
    """The code of a language."""
    return f">>{language}<<"


@dataclass(frozen=True)
class Layout:
    """Where each of our ids comes from: `rows[ours]` is theirs, or None for a symbol that they do not have."""

    rows: tuple[int | None, ...]
    silent: frozenset[int]  # ours that have no probability
    pieces: tuple[str, ...]  # theirs that follow our special symbols

    @classmethod
    def of(
        cls,
        tokens: Sequence[str],
        languages: Sequence[str],
        *,
        pad: int,
        unknown: int | None,
        start: int | None,
        end: int,
    ) -> Layout:
        """The layout of a vocabulary whose symbols have these ids."""
        place = {token: number for number, token in enumerate(tokens)}
        own_pad = None if pad in (start, end, unknown) else pad
        symbols = [own_pad, unknown, start, end, *(place.get(code_of(language)) for language in languages)]
        special = {number for number in (*symbols, pad) if number is not None}
        others = [number for number in range(len(tokens)) if number not in special]
        rows = (*symbols, *others)
        silent = {number for number, theirs in enumerate(symbols) if theirs is None}
        if start in (pad, end, unknown):
            silent.add(BOS)  # one row for two symbols: only the other one, if any, may be predicted
        assert len(symbols) == FIRST_LANGUAGE + len(languages)
        assert own_pad is not None or PAD in silent
        return cls(rows, frozenset(silent), tuple(tokens[number] for number in others))

    def rearranged(self, theirs: Tensor) -> Tensor:
        """The rows of a table or a list in our order; zeros for symbols that only we have."""
        import torch

        index = torch.tensor([0 if row is None else row for row in self.rows])
        ours = theirs[index]
        ours[torch.tensor([row is None for row in self.rows])] = 0
        return ours

    def bias(self, theirs: Tensor) -> Tensor:
        """The output layer's bias in our order."""
        import torch

        ours = self.rearranged(theirs)
        ours[torch.tensor(sorted(self.silent), dtype=torch.long)] = NEVER
        return ours
