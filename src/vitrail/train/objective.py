"""What training minimises: cross-entropy with smoothed targets and, with R-Drop, how far two looks differ.

The logits of a whole batch would be the largest tensor in memory, and autograd would keep several copies. Instead they
are computed for some tokens at a time, and their gradient with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from vitrail.fast import Padded, Twin, apply_linear

FEWEST = 512  # tokens whose logits are held at a time, at least: products with fewer are slow
LOGITS = 1 << 22  # logits that are held at a time, if that is more


class Objective(nn.Module):
    """The loss of a batch, as a module around the model: its forward pass is one call."""

    def __init__(self, body: Twin | Padded, *, smoothing: float) -> None:
        super().__init__()
        self.body, self.smoothing = body, smoothing

    def forward(self, source_BS: Tensor, target_BT: Tensor, r_drop: float = 0.0) -> Tensor:
        """The loss summed over the target's tokens: a step divides once by all of its tokens, however it is split."""
        looks = 2 if r_drop else 1  # each with dropout of its own
        hidden_LND, target_N = self.body(source_BS, target_BT, looks)
        model, device = self.body.model, hidden_LND.device.type
        table_VD, bias_V = model.embeddings.output_table_VD(), model.output_bias
        # In bf16 the gradient goes on in bf16. In fp16 it would underflow: it is scaled only later.
        halved = torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.bfloat16
        how = _How(self.smoothing, r_drop, torch.bfloat16 if halved else table_VD.dtype, self.body.by_numpy)
        with torch.autocast(device, enabled=False):  # the logits and the loss stay float32
            hidden_LND = hidden_LND.to(table_VD.dtype)
            loss: Tensor = _LossOfRows.apply(hidden_LND, table_VD, bias_V, target_N, how)  # type: ignore[no-untyped-call]
        return loss


@dataclass(frozen=True)
class _How:
    """How the loss is computed."""

    smoothing: float
    r_drop: float
    back: torch.dtype  # of the gradient from the logits on
    by_numpy: bool  # which library multiplies


class _LossOfRows(torch.autograd.Function):
    """From the decoder's output to the loss without ever holding all logits. L looks, N tokens."""

    @staticmethod
    def forward(  # noqa: PLR0917 - torch passes them by position
        ctx: Any, hidden_LND: Tensor, table_VD: Tensor, bias_V: Tensor | None, target_N: Tensor, how: _How
    ) -> Tensor:
        grad_hidden_LND, grad_table_VD = torch.empty_like(hidden_LND), None
        grad_bias_V = torch.zeros_like(bias_V) if bias_V is not None else None
        loss = hidden_LND.new_zeros(())
        at_a_time = rows_at_a_time(len(table_VD))
        for start in range(0, len(target_N), at_a_time):
            rows = slice(start, start + at_a_time)
            part = _loss_of_some(hidden_LND[:, rows], table_VD, bias_V, target_N[rows], how)
            loss += part.loss
            grad_hidden_LND[:, rows] = part.grad_hidden_LRD
            grad_table_VD = part.grad_table_VD if grad_table_VD is None else grad_table_VD.add_(part.grad_table_VD)
            if grad_bias_V is not None and part.grad_bias_V is not None:
                grad_bias_V += part.grad_bias_V
        ctx.save_for_backward(grad_hidden_LND, _or_zeros(grad_table_VD, table_VD), grad_bias_V)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        hidden, table, bias = ctx.saved_tensors
        for gradient in ctx.saved_tensors:  # nobody else has them, and a copy of the table's is large
            if gradient is not None:
                gradient.mul_(grad)
        return hidden, table, bias, None, None


@dataclass(frozen=True)
class _Part:
    """The loss of some tokens and its gradients."""

    loss: Tensor
    grad_hidden_LRD: Tensor
    grad_table_VD: Tensor
    grad_bias_V: Tensor | None


def _loss_of_some(hidden_LRD: Tensor, table_VD: Tensor, bias_V: Tensor | None, target_R: Tensor, how: _How) -> _Part:
    logits_LRV = apply_linear(hidden_LRD, table_VD, bias_V, by_numpy=how.by_numpy)
    loss, grad_LRV = loss_and_gradient(logits_LRV, target_R, how.smoothing, how.r_drop)
    del logits_LRV  # as large as their gradient
    grad_bias_V = None if bias_V is None else grad_LRV.sum((0, 1))
    grad_LRV = grad_LRV.to(how.back)
    by_numpy = how.by_numpy and how.back == table_VD.dtype  # numpy has no bf16
    flat_MV, hidden_MD = grad_LRV.flatten(0, 1), hidden_LRD.flatten(0, 1).to(how.back)
    grad_hidden_LRD = apply_linear(grad_LRV, table_VD.to(how.back).mT, None, by_numpy=by_numpy)
    grad_table_VD = apply_linear(flat_MV.mT, hidden_MD.mT, None, by_numpy=by_numpy).to(table_VD.dtype)
    return _Part(loss, grad_hidden_LRD, grad_table_VD, grad_bias_V)


def rows_at_a_time(vocabulary: int) -> int:
    """How many tokens' logits are held at a time."""
    return max(FEWEST, LOGITS // vocabulary)


def _or_zeros(found: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if found is None else found


def loss_and_gradient(logits_LRV: Tensor, target_R: Tensor, smoothing: float, r_drop: float) -> tuple[Tensor, Tensor]:
    """The loss of some tokens, the mean over the looks at each, and its gradient with respect to their logits.

    With two looks, p and q, R-Drop adds r_drop/2 times the mean of KL(p‖q) and KL(q‖p).
    """
    looks, _, vocabulary = logits_LRV.shape
    grad_LRV = p_LRV = logits_LRV.softmax(-1)  # the gradient: prediction minus target, which is subtracted below
    # log p = logit - norm. The norm follows from the likeliest word: its p is at least 1 / V, never lost to rounding.
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
