"""What training makes smaller: the cross-entropy with smoothed targets, and with R-Drop how far two looks differ.

The logits of a whole batch would be the largest thing in memory, kept several times over. They are computed for some
tokens at a time instead, and what follows from them for the gradient at once, while they are still at hand.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from vitrail.model import Packing, Transformer, apply_linear
from vitrail.text import BOS, PAD

FEWEST = 512  # tokens whose logits are held at a time; with fewer, the way to the table and back costs too much
LOGITS = 1 << 24  # held at a time, where that is more
FEW = 64  # tokens of which what follows from the logits is computed at a time, while they are in the cache


class Objective(nn.Module):
    """The loss of a batch as a module around the model, so that its forward pass is one call."""

    def __init__(self, model: Transformer, *, smoothing: float, r_drop: float = 0.0) -> None:
        super().__init__()
        self.model, self.smoothing, self.r_drop = model, smoothing, r_drop

    def forward(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """The loss summed over the target's tokens: a step divides once by all of its tokens, however it is split."""
        looks = 2 if self.r_drop else 1  # each with another dropout
        go_through = self._packed if self.model.packs(source_BS, target_BT) else self._padded
        hidden_LND, target_N = go_through(source_BS, target_BT, looks)
        table_VD, bias_V = self.model.embeddings.output_table_VD(), self.model.output_bias
        settings = (self.smoothing, self.r_drop)
        device = hidden_LND.device.type
        # In bf16 the gradient goes on in it. In fp16 it would be lost: what keeps it in range is multiplied later.
        halved = torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.bfloat16
        back = torch.bfloat16 if halved else table_VD.dtype
        with torch.autocast(device, enabled=False):  # the logits and the loss stay float32
            hidden_LND = hidden_LND.to(table_VD.dtype)
            loss: Tensor = _LossOfRows.apply(hidden_LND, table_VD, bias_V, target_N, settings, back)  # type: ignore[no-untyped-call]
        return loss

    def _padded(self, source_BS: Tensor, target_BT: Tensor, looks: int) -> tuple[Tensor, Tensor]:
        hidden = self.model.decode(shifted(target_BT).repeat(looks, 1), self.model.encode(source_BS.repeat(looks, 1)))
        is_token_BT = target_BT != PAD
        return hidden.view(looks, *target_BT.shape, -1)[:, is_token_BT], target_BT[is_token_BT]

    def _packed(self, source_BS: Tensor, target_BT: Tensor, looks: int) -> tuple[Tensor, Tensor]:
        packing = Packing(source_BS, target_BT, looks=looks)
        source, target = packing.source.pack(source_BS), packing.target.pack(shifted(target_BT))
        hidden = self.model.decode_packed(source, target, packing)
        return hidden.view(looks, -1, hidden.size(-1)), packing.target.pack(target_BT).view(looks, -1)[0]


class _LossOfRows(torch.autograd.Function):
    """From the decoder's output to the loss, without ever holding all logits. L looks, N tokens."""

    @staticmethod
    def forward(  # noqa: PLR0917 - torch hands them over one by one
        ctx: Any,
        hidden_LND: Tensor,
        table_VD: Tensor,
        bias_V: Tensor | None,
        target_N: Tensor,
        settings: tuple[float, float],
        back: torch.dtype,
    ) -> Tensor:
        """`back` is how precisely the gradient goes on from the logits."""
        table_back_VD = table_VD.to(back)
        grad_hidden_LND, grad_table_VD = torch.empty_like(hidden_LND), None
        grad_bias_V = torch.zeros_like(bias_V) if bias_V is not None else None
        loss = hidden_LND.new_zeros(())
        at_a_time = rows_at_a_time(len(table_VD))
        for start in range(0, len(target_N), at_a_time):
            rows = slice(start, start + at_a_time)
            hidden_LRD = hidden_LND[:, rows]
            logits_LRV = apply_linear(hidden_LRD, table_VD, bias_V)
            loss += turn_into_gradient(logits_LRV, target_N[rows], *settings)
            if grad_bias_V is not None:
                grad_bias_V += logits_LRV.sum((0, 1))
            grad_LRV = logits_LRV.to(back)
            grad_hidden_LND[:, rows] = apply_linear(grad_LRV, table_back_VD.mT, None)
            flat_MV, hidden_MD = grad_LRV.flatten(0, 1), hidden_LRD.flatten(0, 1).to(back)
            found_VD = apply_linear(flat_MV.mT, hidden_MD.mT, None).to(table_VD.dtype)
            grad_table_VD = found_VD if grad_table_VD is None else grad_table_VD.add_(found_VD)
        ctx.save_for_backward(grad_hidden_LND, _or_zeros(grad_table_VD, table_VD), grad_bias_V)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        hidden, table, bias = ctx.saved_tensors
        return hidden * grad, table * grad, None if bias is None else bias * grad, None, None, None


def rows_at_a_time(vocabulary: int) -> int:
    """Of how many tokens the logits are held."""
    return max(FEWEST, LOGITS // vocabulary)


def _or_zeros(found: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if found is None else found


def turn_into_gradient(logits_LRV: Tensor, target_R: Tensor, smoothing: float, r_drop: float) -> Tensor:
    """The loss of some tokens; in the place of their logits, its gradient. On a CPU a few at a time, for its cache."""
    loss = logits_LRV.new_zeros(())
    few = FEW if logits_LRV.device.type == "cpu" else len(target_R)
    for start in range(0, len(target_R), few):
        rows = slice(start, start + few)
        part, logits_LRV[:, rows] = loss_and_gradient(logits_LRV[:, rows], target_R[rows], smoothing, r_drop)
        loss += part
    return loss


def loss_and_gradient(logits_LRV: Tensor, target_R: Tensor, smoothing: float, r_drop: float) -> tuple[Tensor, Tensor]:
    """The loss of some tokens, the mean over the looks at each, and its gradient with respect to their logits.

    With two looks, p and q, R-Drop adds r_drop/2 times the mean of KL(p‖q) and KL(q‖p).
    """
    looks, _, vocabulary = logits_LRV.shape
    grad_LRV = p_LRV = logits_LRV.softmax(-1)  # prediction minus target, once the target is taken off, in place
    # log p = logit - norm. The likeliest word tells the norm: its p is at least 1 / V, and never lost to rounding.
    norm_LR1 = logits_LRV.amax(-1, keepdim=True) - p_LRV.amax(-1, keepdim=True).log()
    index_LR1 = target_R.expand(looks, -1).unsqueeze(-1)
    loss = -(1 - smoothing) * (logits_LRV.gather(-1, index_LR1) - norm_LR1).sum()
    if smoothing:
        loss -= smoothing * (logits_LRV.sum() / vocabulary - norm_LR1.sum())
    if r_drop:
        apart_RV = (logits_LRV[0] - norm_LR1[0]) - (logits_LRV[1] - norm_LR1[1])
        p_LRV, sign = grad_LRV.clone(), apart_RV.new_tensor([1.0, -1.0])[:, None, None]
        apart_LRV = apart_RV * sign
        kl_LR1 = (p_LRV * apart_LRV).sum(-1, keepdim=True)
        loss += r_drop / 2 * kl_LR1.sum()
        grad_LRV += r_drop / 2 * (p_LRV * (apart_LRV - kl_LR1) + (p_LRV[0] - p_LRV[1]) * sign)
    if smoothing:
        grad_LRV -= smoothing / vocabulary
    grad_LRV.scatter_add_(-1, index_LR1, grad_LRV.new_full((), smoothing - 1).expand(index_LR1.shape))
    return loss / looks, grad_LRV.div_(looks) if looks > 1 else grad_LRV


def shifted(target_BT: Tensor) -> Tensor:
    """The decoder's input: the target moved one place to the right behind `<bos>`."""
    return torch.cat([torch.full_like(target_BT[:, :1], BOS), target_BT[:, :-1]], dim=1)
