"""What-if: the same model with some attention heads switched off, in full passes and in every step of a search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy

import torch
from torch import Tensor

from vitrail.errors import DecodeError, did_you_mean
from vitrail.model.attention import DotProduct, KeysValues, MultiHeadAttention
from vitrail.model.taps import NO_TAP, Tap
from vitrail.model.transformer import Transformer


class GatedHeads(DotProduct):
    """An attention with some heads switched off: their z is 0 before W^O."""

    def __init__(self, inner: DotProduct, is_off_H: Tensor) -> None:
        super().__init__()
        self.inner = inner
        self.is_off_1H11 = is_off_H[None, :, None, None]

    def place(self, vectors: Tensor, *, first: int, tap: Tap, name: str) -> Tensor:
        """Prepare queries or keys as the inner attention does."""
        return self.inner.place(vectors, first=first, tap=tap, name=name)

    def forward(self, q_BHTK: Tensor, seen: KeysValues, visible_B1TS: Tensor | None, *, tap: Tap = NO_TAP) -> Tensor:
        """Attend, then close the gate. A listener hears z as it enters W^O: after the gate."""
        if not tap.active:
            return self._close(self.inner.forward(q_BHTK, seen, visible_B1TS))
        return self.inner.forward(q_BHTK, seen, visible_B1TS, tap=_BehindTheGate(self, tap))

    def _close(self, z_BHTK: Tensor) -> Tensor:
        return z_BHTK.masked_fill(self.is_off_1H11.to(z_BHTK.device), 0.0)


class _BehindTheGate(Tap):
    """The tap of a gated attention: it passes every value on, z through the gate."""

    def __init__(self, gate: GatedHeads, tap: Tap) -> None:
        super().__init__(lambda _name, _value: None)
        self._gate = gate
        self._tap = tap

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return self._tap(name, self._gate._close(value) if name == "z" else value)


def without_heads(model: Transformer, heads_off: Mapping[str, Iterable[int]]) -> Transformer:
    """The model with these heads switched off: `{"decoder.0.cross_attention": [0, 3]}`.

    It is a copy that shares the model's parameters. The model itself does not change and can be used at the same time.
    """
    chosen = {name: sorted(set(heads)) for name, heads in heads_off.items()}
    _check(model, chosen)
    # What is in the memo counts as copied already: the modules are new, their parameters are the model's own.
    changed = deepcopy(model, {id(parameter): parameter for parameter in model.parameters()})
    for name, attention in attentions(changed).items():
        if heads := chosen.get(name):
            is_off_H = torch.zeros(model.config.heads, dtype=torch.bool)
            is_off_H[heads] = True
            attention.dot_product = GatedHeads(attention.dot_product, is_off_H)
    return changed


def attentions(model: Transformer) -> dict[str, MultiHeadAttention]:
    """Every attention by its name: `encoder.0.self_attention`, …"""
    return {
        name.replace(".layers.", "."): module
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    }


def _check(model: Transformer, heads_off: Mapping[str, list[int]]) -> None:
    known, heads = list(attentions(model)), model.config.heads
    for name, chosen in heads_off.items():
        if name not in known:
            near = did_you_mean(name, known)
            raise DecodeError(
                f"this model has no attention '{name}'",
                where="heads_off",
                fix=f"{f'{near} ' if near else ''}choose from {', '.join(known)}",
            )
        for head in chosen:
            if isinstance(head, bool) or not isinstance(head, int) or not 0 <= head < heads:
                raise DecodeError(
                    f"'{name}' has no head {head!r}", where="heads_off", fix=f"its heads are 0 to {heads - 1}"
                )
