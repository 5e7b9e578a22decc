"""What a search keeps from step to step, so that no key or value is computed twice.

The decoder's own keys and values belong to a hypothesis and move with it. The encoder's belong to a sentence: they are
stored once, and in cross-attention the hypotheses of a sentence are queries to the same keys.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from vitrail.model.attention import KeysValues

_ROOM = 32  # positions by which a buffer grows: few copies of the past, and little empty room to copy with it


class Past:
    """The keys and values of a growing text, for each hypothesis (a row) of a layer's self-attention."""

    def __init__(self) -> None:
        self.length = 0
        self._k_NGSK = torch.empty(0)
        self._v_NGSK = torch.empty(0)

    def append(self, newest: KeysValues) -> KeysValues:
        """Add the newest position, and return everything up to it."""
        if self.length == 0:
            self._k_NGSK, self._v_NGSK = _with_room(newest.k_BGSK, 0), _with_room(newest.v_BGSK, 0)
        elif self.length == self._k_NGSK.size(2):
            self._k_NGSK, self._v_NGSK = (_with_room(past, self.length) for past in (self._k_NGSK, self._v_NGSK))
        self._k_NGSK[:, :, self.length] = newest.k_BGSK[:, :, 0]
        self._v_NGSK[:, :, self.length] = newest.v_BGSK[:, :, 0]
        self.length += 1
        return KeysValues(self._k_NGSK[:, :, : self.length], self._v_NGSK[:, :, : self.length])

    def select(self, rows_N: Tensor) -> None:
        """Continue with these rows. A row may appear several times."""
        if self.length:
            self._k_NGSK, self._v_NGSK = self._k_NGSK.index_select(0, rows_N), self._v_NGSK.index_select(0, rows_N)


class LayerCache:
    """One decoder layer's share: the past of its self-attention, and the memory's keys and values."""

    def __init__(self, memory: KeysValues) -> None:
        self.past = Past()
        self.memory = KeysValues(memory.k_BGSK.contiguous(), memory.v_BGSK.contiguous())

    def keep(self, rows_B: Tensor) -> None:
        """Continue with the memories of these sentences."""
        k_BGSK, v_BGSK = self.memory.k_BGSK.index_select(0, rows_B), self.memory.v_BGSK.index_select(0, rows_B)
        self.memory = KeysValues(k_BGSK, v_BGSK)


class Cache:
    """Everything a search keeps: B sentences with W hypotheses each, all of the same length."""

    def __init__(self, layers: Iterable[LayerCache], visible_B11S: Tensor) -> None:
        self.layers = tuple(layers)
        self.visible_B11S = visible_B11S
        self.hypotheses = 1

    @property
    def sentences(self) -> int:
        """How many sentences are still being translated."""
        return self.visible_B11S.size(0)

    @property
    def length(self) -> int:
        """How many ids every hypothesis has so far."""
        return self.layers[0].past.length

    def reorder(self, parent_BW: Tensor) -> None:
        """Let hypothesis w of sentence b continue the former hypothesis `parent_BW[b, w]`; W may change."""
        assert parent_BW.size(0) == self.sentences
        before, self.hypotheses = self.hypotheses, parent_BW.size(1)
        rows_BW = parent_BW + before * torch.arange(self.sentences, device=parent_BW.device)[:, None]
        self._select(rows_BW, self.sentences * before)

    def keep(self, rows: Tensor) -> None:
        """Continue with these sentences only, in this order."""
        rows_BW = rows[:, None] * self.hypotheses + torch.arange(self.hypotheses, device=rows.device)
        self._select(rows_BW, self.sentences * self.hypotheses)
        self.visible_B11S = self.visible_B11S.index_select(0, rows)
        for layer in self.layers:
            layer.keep(rows)

    def _select(self, rows_BW: Tensor, rows_before: int) -> None:
        rows_N = rows_BW.flatten()
        if torch.equal(rows_N, torch.arange(rows_before, device=rows_N.device)):
            return  # nothing moved, as in greedy search
        for layer in self.layers:
            layer.past.select(rows_N)


def _with_room(x_NGSK: Tensor, length: int) -> Tensor:
    """A copy of the first `length` positions with room for more."""
    rows, heads, _, width = x_NGSK.shape
    roomy = x_NGSK.new_empty(rows, heads, length + _ROOM, width)
    roomy[:, :, :length] = x_NGSK[:, :, :length]
    return roomy
