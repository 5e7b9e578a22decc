"""What the arranged decoder keeps between steps, laid out so that nothing moves when hypotheses do.

A sentence's hypotheses share one row of slots. Every step adds a slot for each hypothesis, and what a hypothesis may
see of the slots is a row of a mask: its own past. When hypotheses are reordered only these rows move. Slots that no
hypothesis sees any more are dropped when the room for slots is used up. Dimension key: vitrail/model/__init__.py.
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
            assert first == 0, "hypotheses are told apart when they are reordered"
            self._hidden_BWS = like.new_full((self._sentences, hypotheses, self._room), -inf)
        if self._hidden_BWS is None:
            return None
        self._hidden_BWS[:, :, first : self.count].diagonal(dim1=1, dim2=2).zero_()
        return self._hidden_BWS[:, None, :, : self.count]

    def fill(self, layer: int, kv_BW2GK: Tensor) -> KeysValues:
        """Write a layer's newest slots, and return all of its slots."""
        kv = self._kv[layer]
        if kv is None:
            sentences, _, *width = kv_BW2GK.shape
            kv = self._kv[layer] = kv_BW2GK.new_empty(sentences, self._room, *width)
        kv[:, self.count - kv_BW2GK.size(1) : self.count] = kv_BW2GK
        return keys_values(kv[:, : self.count])

    def reorder(self, parent_BW: Tensor) -> None:
        """Let hypothesis w of sentence b see what `parent_BW[b, w]` saw."""
        if not self.count:
            return
        if self._hidden_BWS is None:
            if parent_BW.size(1) == 1:
                return
            self._hidden_BWS = self._nothing_hidden()
        index_BWS = parent_BW[:, :, None].expand(-1, -1, self._room)
        self._hidden_BWS = self._hidden_BWS.gather(1, index_BWS)

    def keep(self, rows_B: Tensor, moved: Tensor) -> None:
        """Continue with these sentences. Only the `moved` ones change their place."""
        self._sentences = rows_B.size(0)
        self._kv = [None if kv is None else keep_rows(kv, rows_B, moved) for kv in self._kv]
        if self._hidden_BWS is not None:
            self._hidden_BWS = keep_rows(self._hidden_BWS, rows_B, moved)

    def _nothing_hidden(self) -> Tensor:
        """The mask of sentences that had one hypothesis each."""
        kv = self._kv[0]
        assert kv is not None
        hidden_B1S = kv.new_full((self._sentences, 1, self._room), -inf)
        hidden_B1S[:, :, : self.count] = 0.0
        return hidden_B1S

    def _make_room(self, hypotheses: int) -> None:
        """Room for some more steps. As this copies everything, slots that nobody sees are left behind."""
        used = None if self._hidden_BWS is None else self._used_slots(self._hidden_BWS)
        self._room = self.count + _ROOM * hypotheses
        self._kv = [None if kv is None else self._with_room(kv, used) for kv in self._kv]
        if self._hidden_BWS is not None and used is not None:
            width = self._hidden_BWS.size(1)
            seen = self._hidden_BWS.gather(2, used[:, None].expand(-1, width, -1))
            self._hidden_BWS = seen.new_full((self._sentences, width, self._room), -inf)
            self._hidden_BWS[:, :, : self.count] = seen

    def _used_slots(self, hidden_BWS: Tensor) -> Tensor:
        """The slots of each sentence that a hypothesis sees, and others if another sentence has more of them."""
        is_dead = (hidden_BWS[:, :, : self.count] != 0).all(1)
        self.count -= int(is_dead.sum(1).min())
        return is_dead.int().argsort(dim=1, stable=True)[:, : self.count]

    def _with_room(self, kv: Tensor, used: Tensor | None) -> Tensor:
        sentences, room, *width = kv.shape
        roomy = kv.new_empty(sentences, self._room, *width)
        if used is None:
            roomy[:, : self.count] = kv[:, : self.count]
        else:
            rows = used + room * torch.arange(sentences, device=kv.device)[:, None]
            chosen = kv.flatten(0, 1).index_select(0, rows.flatten())
            roomy[:, : self.count] = chosen.view(sentences, self.count, *width)
        return roomy


class Cache:
    """Everything a search keeps: B sentences with W hypotheses each, all of the same length.

    The memory's keys and values, for all layers, are stored once for each sentence.
    """

    def __init__(self, memory_BSL2GK: Tensor, visible_B11S: Tensor) -> None:
        self._memory_BSL2GK = memory_BSL2GK
        self.hidden_B11S: Tensor | None = None  # -inf where the source is padding. None: there is none
        if not bool(visible_B11S.all()):
            self.hidden_B11S = memory_BSL2GK.new_zeros(visible_B11S.shape).masked_fill_(~visible_B11S, -inf)
        self.slots = Slots(memory_BSL2GK.size(0), memory_BSL2GK.size(2))
        self.hypotheses, self.length = 1, 0

    @property
    def sentences(self) -> int:
        """How many sentences are still being translated."""
        return self._memory_BSL2GK.size(0)

    def memory(self, layer: int) -> KeysValues:
        """What the hypotheses look at in a layer."""
        return keys_values(self._memory_BSL2GK[:, :, layer])

    def reorder(self, parent_BW: Tensor) -> None:
        """Let hypothesis w of sentence b continue the former hypothesis `parent_BW[b, w]`; W may change."""
        assert parent_BW.size(0) == self.sentences
        self.hypotheses = parent_BW.size(1)
        self.slots.reorder(parent_BW)

    def keep(self, rows: Tensor) -> None:
        """Continue with these sentences only, in this order. Those that stay in their places are not copied."""
        moved = (rows != torch.arange(rows.size(0), device=rows.device)).nonzero().squeeze(1)
        self.slots.keep(rows, moved)
        self._memory_BSL2GK = keep_rows(self._memory_BSL2GK, rows, moved)
        if self.hidden_B11S is not None:
            self.hidden_B11S = keep_rows(self.hidden_B11S, rows, moved)


def keep_rows(x: Tensor, rows_B: Tensor, moved: Tensor) -> Tensor:
    """These rows of `x`, in its own memory."""
    if moved.size(0):
        x[moved] = x.index_select(0, rows_B[moved])
    return x[: rows_B.size(0)]


def keys_values(kv_BS2GK: Tensor) -> KeysValues:
    """Keys and values that lie beside each other."""
    k_BSGK, v_BSGK = kv_BS2GK.unbind(2)
    return KeysValues(k_BSGK.transpose(1, 2), v_BSGK.transpose(1, 2))
