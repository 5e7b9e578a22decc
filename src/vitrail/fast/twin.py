"""The twin: a copy of the model's modules that shares its parameters, with faster parts."""

from __future__ import annotations

from copy import deepcopy
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from vitrail.config.positions import POSITIONS
from vitrail.fast.attention import attend
from vitrail.fast.linear import Linear
from vitrail.fast.masks import Dropout, Masks
from vitrail.fast.packing import Packing, Side, Sight
from vitrail.fast.padded import through_padding
from vitrail.fast.products import has_openblas, numpy_is_faster
from vitrail.model import Transformer, shifted
from vitrail.model.attention import MultiHeadAttention, one_per_head
from vitrail.model.feed_forward import FeedForward
from vitrail.model.positions import AddedPositions, Positions
from vitrail.text.special import PAD

LONGEST = 128  # tokens of a packed sentence: with more, keeping every attention weight costs more than it saves


class Twin(nn.Module):
    """The model as one thread trains it.

    `masks` is where its dropout comes from. With `one_core`, numpy multiplies where it is faster, and sentences are
    packed if the model allows it. In half precision torch computes the linear layers: numpy cannot.
    """

    def __init__(self, model: Transformer, masks: Masks, *, one_core: bool, half_precision: bool = False) -> None:
        super().__init__()
        self.masks = masks
        self.by_numpy = one_core and numpy_is_faster()
        # What is in the memo counts as copied already: the modules are new, their parameters are the model's own.
        self.model = deepcopy(model, {id(parameter): parameter for parameter in model.parameters()})
        kind, config = POSITIONS[model.config.positions], model.config
        self.packs = one_core and has_openblas() and kind.packs and not config.attention_dropout
        for module in list(self.model.modules()):
            for name, part in module.named_children():
                if isinstance(part, nn.Dropout):
                    setattr(module, name, Dropout(part.p, masks))
                elif isinstance(part, nn.Linear) and self.by_numpy and not half_precision:
                    setattr(module, name, Linear(part))
            if isinstance(module, FeedForward) and isinstance(module.inner, Linear) and module.activation is F.relu:
                module.activation = F.relu_  # nobody else has what numpy multiplied: ReLU may overwrite it

    def forward(self, source_BS: Tensor, target_BT: Tensor, looks: int) -> tuple[Tensor, Tensor]:
        """The decoder's output for every token of the target, for each look, and those tokens."""
        longest = max(source_BS.size(1), target_BT.size(1))
        has_tokens = bool((target_BT[:, 0] != PAD).all())
        if self.packs and longest <= LONGEST and has_tokens:
            return self._packed(source_BS, target_BT, looks)
        return through_padding(self.model, source_BS, target_BT, looks)

    def _packed(self, source_BS: Tensor, target_BT: Tensor, looks: int) -> tuple[Tensor, Tensor]:
        packing = Packing(source_BS, target_BT, looks=looks)
        memory = self._encode(packing.source.pack(source_BS), packing)
        hidden = self._decode(packing.target.pack(shifted(target_BT)), memory, packing)
        return hidden.view(looks, -1, hidden.size(-1)), packing.target.pack(target_BT).view(looks, -1)[0]

    def _encode(self, source_1S: Tensor, packing: Packing) -> Tensor:
        """`Transformer.encode`, over packed tokens."""
        model, side = self.model, packing.source
        x_1SD = model.dropout(_place(model.embeddings.embed_source(source_1S), model.source_positions, side))
        for layer in model.encoder.each_layer():
            x_1SD = layer.add_norm_1(x_1SD, partial(_look_around, layer.self_attention, side.sight))
            x_1SD = layer.add_norm_2(x_1SD, layer.feed_forward)
        memory_1SD: Tensor = model.encoder.final_norm(x_1SD)
        return memory_1SD

    def _decode(self, target_1T: Tensor, memory_1SD: Tensor, packing: Packing) -> Tensor:
        """`Transformer.decode`, over packed tokens."""
        model, side = self.model, packing.target
        x_1TD = model.dropout(_place(model.embeddings.embed_target(target_1T), model.target_positions, side))
        for layer in model.decoder.each_layer():
            x_1TD = layer.add_norm_1(x_1TD, partial(_look_around, layer.self_attention, side.sight))
            x_1TD = layer.add_norm_2(x_1TD, partial(_look_at, layer.cross_attention, packing.across, memory_1SD))
            x_1TD = layer.add_norm_3(x_1TD, layer.feed_forward)
        hidden_1TD: Tensor = model.decoder.final_norm(x_1TD)
        return hidden_1TD


def _place(x_1ND: Tensor, positions: Positions, side: Side) -> Tensor:
    """Tell every token its position in its own sentence."""
    assert isinstance(positions, AddedPositions), "a kind that packs adds vectors"
    return x_1ND + F.embedding(side.position_N, positions.vectors(0, side.longest, like=x_1ND))


def _look_around(attention: MultiHeadAttention, sight: Sight, x_1ND: Tensor) -> Tensor:
    """Self-attention."""
    return _look_at(attention, sight, x_1ND, x_1ND)


def _look_at(attention: MultiHeadAttention, sight: Sight, seen_1SD: Tensor, x_1TD: Tensor) -> Tensor:
    """What every token of `x` gathers from those of `seen` that are in its sentence."""
    q_1HTK = attention.queries(x_1TD)
    seen = attention.keys_values(seen_1SD)
    z_1HTK = attend(q_1HTK, one_per_head(seen.k_BGSK, q_1HTK), one_per_head(seen.v_BGSK, q_1HTK), sight)
    gathered_1TD: Tensor = attention.output(attention.join_heads(z_1HTK))
    return gathered_1TD
