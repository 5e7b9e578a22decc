"""The plain model over a padded batch: for GPUs, and for what the twin does not serve."""

from __future__ import annotations

from torch import Tensor, nn

from vitrail.model import Transformer, shifted
from vitrail.text.special import PAD


class Padded(nn.Module):
    """The model itself, called as the twin is called."""

    by_numpy = False

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source_BS: Tensor, target_BT: Tensor, looks: int) -> tuple[Tensor, Tensor]:
        """The decoder's output for every token of the target, for each look, and those tokens."""
        return through_padding(self.model, source_BS, target_BT, looks)


def through_padding(model: Transformer, source_BS: Tensor, target_BT: Tensor, looks: int) -> tuple[Tensor, Tensor]:
    """The same, as a function of the model."""
    hidden = model.decode(shifted(target_BT).repeat(looks, 1), model.encode(source_BS.repeat(looks, 1)))
    is_token_BT = target_BT != PAD
    return hidden.view(looks, *target_BT.shape, -1)[:, is_token_BT], target_BT[is_token_BT]
