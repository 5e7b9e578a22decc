"""A linear layer and its gradients by numpy, on one core."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitrail.fast.products import multiply


class Linear(nn.Module):
    """A linear layer that shares the parameters of another one and lets numpy multiply."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        """x · Wᵀ + b."""
        return apply_linear(x, self.weight, self.bias, by_numpy=True)


def apply_linear(x: Tensor, weight: Tensor, bias: Tensor | None, *, by_numpy: bool) -> Tensor:
    """x · Wᵀ + b, by numpy or by torch."""
    if not by_numpy:
        return F.linear(x, weight, bias)
    found: Tensor = _Linear.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return found


class _Linear(torch.autograd.Function):
    """A linear layer and its gradients in three products. I inputs, O outputs, N vectors."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight_OI: Tensor, bias_O: Tensor | None) -> Tensor:
        x_NI = x.reshape(-1, x.size(-1))
        ctx.save_for_backward(x_NI, weight_OI)
        ctx.has_bias, ctx.shape = bias_O is not None, x.shape
        y = x.new_empty(*x.shape[:-1], len(weight_OI))
        multiply(x_NI, weight_OI.mT, out=y.view(-1, len(weight_OI)))
        return y if bias_O is None else y.add_(bias_O)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        x_NI, weight_OI = ctx.saved_tensors
        grad_NO = grad.reshape(-1, grad.size(-1))
        grad_x_NI = multiply(grad_NO, weight_OI, out=torch.empty_like(x_NI))
        if not ctx.needs_input_grad[1]:  # a frozen layer
            return grad_x_NI.view(ctx.shape), None, None
        grad_weight_OI = multiply(grad_NO.mT, x_NI, out=torch.empty_like(weight_OI))
        return grad_x_NI.view(ctx.shape), grad_weight_OI, grad_NO.sum(0) if ctx.has_bias else None
