"""What the words of a translation look at in their source: the weights of cross-attention, which align the two.

Dimension key: vitrail/model/__init__.py.
"""

from __future__ import annotations

import torch
from torch import Tensor

from vitrail.model.encoder import Memory
from vitrail.model.taps import Tap
from vitrail.model.transformer import Transformer

_WEIGHTS = "cross_attention.weights"


def cross_attention(
    model: Transformer, source_BS: Tensor, target_NT: Tensor, sentence_N: Tensor | None = None
) -> list[Tensor]:
    """weights_NHTS of every decoder layer, in a full pass over the targets, which begin with `<bos>`.

    `sentence_N` is the source of each target; without it, there is one for each.
    """
    heard: list[Tensor] = []

    def listener(name: str, value: Tensor) -> None:
        if name.endswith(_WEIGHTS):
            heard.append(value)

    with torch.no_grad():
        memory = model.encode(source_BS)
        if sentence_N is not None:
            memory = Memory(memory.output_BSD[sentence_N], memory.visible_B11S[sentence_N])
        model.decode(target_NT, memory, tap=Tap(listener))
    assert len(heard) == model.config.decoder_layers
    return heard
