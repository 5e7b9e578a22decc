"""What the arranged decoder keeps between steps, laid out so that nothing moves when hypotheses do.

A sentence's hypotheses share one row of slots. Every step adds a slot for each hypothesis, and what a hypothesis may
see of the slots is a row of a mask: its own past. When hypotheses are reordered only these rows move. Slots that no
hypothesis sees any more are dropped when the room for slots is used up.

Sentences need not have the same length: one that is done can be replaced by another one, which starts.
Dimension key: vitrail/model/__init__.py.
"""

from __future__ import annotations

from math import inf

import torch
from torch import Tensor

from vitrail.model.attention import KeysValues

_ROOM = 16  # steps for which there is room when slots are made


class Slots:
    """The keys and values of the texts so far, for all layers."""

    def __init__(self, sentences: int, layers: int) -> None:
        self.count = 0
        self._sentences, self._room = sentences, 0
        self._kv: list[Tensor | None] = [None] * layers  # each (B, room, 2, G, K): a slot's key beside its value
        self._hidden_BWS: Tensor | None = None  # 0 where a hypothesis sees a slot, else -inf. None: all see all

    def open(self, hypotheses: int, *, like: Tensor) -> Tensor | None:
        """Add a slot for each hypothesis, for every layer to fill; return what each hypothesis may see of all slots."""
        if self.count + hypotheses > self._room:
            self._make_room(hypotheses)
        first, self.count = self.count, self.count + hypotheses
        if hypotheses > 1 and self._hidden_BWS is None:
            assert first == 0, "hypotheses that see the same differ from their first step on"
            self._hidden_BWS = like.new_full((self._sentences, hypotheses, self._room), -inf)
        if self._hidden_BWS is None:
            return None
        own_BWS = self._hidden_BWS[:, :, first : self.count]
        own_BWS.diagonal(dim1=1, dim2=2).zero_()
        return self._hidden_BWS[:, None, :, : self.count]

    def fill(self, layer: int, kv_BW2GK: Tensor) -> KeysValues:
        """Write a layer's newest slots, and return all of its slots."""
        kv = self._kv[layer]
        if kv is None:
            sentences, _, *width = kv_BW2GK.shape
            kv = self._kv[layer] = kv_BW2GK.new_empty(sentences, self._room, *width)
        kv[:, self.count - kv_BW2GK.size(1) : self.count] = kv_BW2GK
        return _keys_values(kv[:, : self.count])

    def reorder(self, parent_BW: Tensor) -> None:
        """Let hypothesis w of sentence b see what `parent_BW[b, w]` saw."""
        if self._hidden_BWS is None:
            if parent_BW.size(1) == 1 or not self.count:
                return
            self._hide_nothing()
        assert self._hidden_BWS is not None
        index_BWS = parent_BW[:, :, None].expand(-1, -1, self._room)
        self._hidden_BWS = self._hidden_BWS.gather(1, index_BWS)

    def keep(self, rows_B: Tensor) -> None:
        """Continue with these sentences."""
        self._sentences = len(rows_B)
        self._kv = [None if kv is None else kv.index_select(0, rows_B) for kv in self._kv]
        if self._hidden_BWS is not None:
            self._hidden_BWS = self._hidden_BWS.index_select(0, rows_B)

    def replace(self, rows_B: Tensor, others: Slots) -> None:
        """Let other sentences take the places of these ones."""
        assert others.count <= self.count, "those who come later are shorter"
        if self._hidden_BWS is None:
            self._hide_nothing()
        assert self._hidden_BWS is not None
        hidden = others._hidden_BWS
        self._hidden_BWS[rows_B] = -inf
        self._hidden_BWS[rows_B, :, : others.count] = 0.0 if hidden is None else hidden[:, :, : others.count]
        for kv, other in zip(self._kv, others._kv, strict=True):
            assert kv is not None and other is not None
            kv[rows_B, : others.count] = other[:, : others.count]

    def _hide_nothing(self) -> None:
        """Begin to keep the mask, for sentences with one hypothesis each."""
        kv = self._kv[0]
        assert kv is not None
        self._hidden_BWS = kv.new_full((self._sentences, 1, self._room), -inf)
        self._hidden_BWS[:, :, : self.count] = 0.0

    def _make_room(self, hypotheses: int) -> None:
        """Room for some more steps. Since it takes a copy, slots that nobody sees are left behind."""
        order_BS = None
        if self._hidden_BWS is not None:
            is_dead_BS = (self._hidden_BWS[:, :, : self.count] != 0).all(1)
            order_BS = is_dead_BS.int().argsort(dim=1, stable=True)
            self.count -= int(is_dead_BS.sum(1).min())
            order_BS = order_BS[:, : self.count]
        self._room = self.count + _ROOM * hypotheses
        self._kv = [None if kv is None else self._with_room(kv, order_BS) for kv in self._kv]
        if self._hidden_BWS is not None and order_BS is not None:
            before_BWS, width = self._hidden_BWS, self._hidden_BWS.size(1)
            self._hidden_BWS = before_BWS.new_full((self._sentences, width, self._room), -inf)
            index_BWS = order_BS[:, None].expand(-1, width, -1)
            self._hidden_BWS[:, :, : self.count] = before_BWS.gather(2, index_BWS)

    def _with_room(self, kv_BS2GK: Tensor, order_BS: Tensor | None) -> Tensor:
        sentences, room, *width = kv_BS2GK.shape
        roomy = kv_BS2GK.new_empty(sentences, self._room, *width)
        if order_BS is None:
            roomy[:, : self.count] = kv_BS2GK[:, : self.count]
        else:
            rows = order_BS + room * torch.arange(sentences, device=order_BS.device)[:, None]
            chosen = kv_BS2GK.flatten(0, 1).index_select(0, rows.flatten())
            roomy[:, : self.count] = chosen.view(sentences, self.count, *width)
        return roomy


class Sources:
    """The memory's keys and values for all layers, once for each sentence."""

    def __init__(self, kv_BSL2GK: Tensor, visible_B11S: Tensor) -> None:
        self._kv_BSL2GK = kv_BSL2GK
        hidden_B11S = kv_BSL2GK.new_zeros(visible_B11S.shape).masked_fill_(~visible_B11S, -inf)
        self.hidden_B11S: Tensor | None = None if bool(visible_B11S.all()) else hidden_B11S

    def __len__(self) -> int:
        return self._kv_BSL2GK.size(0)

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self._kv_BSL2GK.device

    def of(self, layer: int) -> KeysValues:
        """What the hypotheses look at in a layer."""
        return _keys_values(self._kv_BSL2GK[:, :, layer])

    def keep(self, rows_B: Tensor) -> None:
        """Continue with these sentences."""
        self._kv_BSL2GK = self._kv_BSL2GK.index_select(0, rows_B)
        if self.hidden_B11S is not None:
            self.hidden_B11S = self.hidden_B11S.index_select(0, rows_B)

    def replace(self, rows_B: Tensor, others: Sources) -> None:
        """Let other sentences take the places of these ones."""
        length, longest = others._kv_BSL2GK.size(1), self._kv_BSL2GK.size(1)
        if self.hidden_B11S is None:
            self.hidden_B11S = self._kv_BSL2GK.new_zeros(len(self), 1, 1, longest)
        if length > longest:
            more = length - longest
            self._kv_BSL2GK = torch.cat([self._kv_BSL2GK, self._kv_BSL2GK[:, :1].expand(-1, more, -1, -1, -1, -1)], 1)
            self.hidden_B11S = torch.cat([self.hidden_B11S, self.hidden_B11S.new_full((len(self), 1, 1, more), -inf)], 3)
        self._kv_BSL2GK[rows_B, :length] = others._kv_BSL2GK
        self.hidden_B11S[rows_B] = -inf
        self.hidden_B11S[rows_B, :, :, :length] = 0.0 if others.hidden_B11S is None else others.hidden_B11S


class Cache:
    """Everything a search keeps: B sentences with W hypotheses each."""

    def __init__(self, sources: Sources, layers: int) -> None:
        self.sources, self.slots = sources, Slots(len(sources), layers)
        self.hypotheses = 1
        # How many ids the hypotheses of each sentence have so far.
        self.length_B = torch.zeros(len(sources), dtype=torch.long, device=sources.device)
        self.longest = 0

    @property
    def sentences(self) -> int:
        """How many sentences are being translated."""
        return len(self.sources)

    def reorder(self, parent_BW: Tensor) -> None:
        """Let hypothesis w of sentence b continue the former hypothesis `parent_BW[b, w]`; W may change."""
        assert parent_BW.size(0) == self.sentences
        self.hypotheses = parent_BW.size(1)
        self.slots.reorder(parent_BW)

    def keep(self, rows: Tensor) -> None:
        """Continue with these sentences only, in this order."""
        self.sources.keep(rows)
        self.slots.keep(rows)
        self.length_B = self.length_B[rows]
        self.longest = int(self.length_B.max())

    def replace(self, rows: Tensor, others: Cache) -> None:
        """Let the sentences of another cache, with as many hypotheses, take the places of these ones."""
        assert (len(rows), self.hypotheses) == (others.sentences, others.hypotheses)
        self.sources.replace(rows, others.sources)
        self.slots.replace(rows, others.slots)
        self.length_B[rows] = others.length_B
        self.longest = int(self.length_B.max())


def _keys_values(kv_BS2GK: Tensor) -> KeysValues:
    return KeysValues(kv_BS2GK[:, :, 0].transpose(1, 2), kv_BS2GK[:, :, 1].transpose(1, 2))
