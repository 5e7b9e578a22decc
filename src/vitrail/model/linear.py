"""A linear layer as every one of this model's begins: Xavier-uniform weights, biases of zero."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitrail.model.multiply import multiply, numpy_is_asked_for_large


class Linear(nn.Linear):
    """torch's linear layer, multiplied by whatever is fastest here."""

    def forward(self, x: Tensor) -> Tensor:
        """x · Wᵀ + b."""
        return apply_linear(x, self.weight, self.bias)


def linear(width_in: int, width_out: int, *, bias: bool) -> Linear:
    """A new linear layer."""
    layer = Linear(width_in, width_out, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def at_once(x: Tensor, *layers: nn.Linear) -> tuple[Tensor, ...]:
    """What each layer makes of `x`, all in one multiplication: a wide one is faster than several narrow ones."""
    weight = torch.cat([layer.weight for layer in layers])
    biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
    together = apply_linear(x, weight, torch.cat(biases) if biases else None)
    return together.split_with_sizes([layer.out_features for layer in layers], dim=-1)


def apply_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x · Wᵀ + b, by torch or, where that is asked for, by numpy; a test holds them equal."""
    if not numpy_is_asked_for_large(x):
        return F.linear(x, weight, bias)
    found: Tensor = _ByNumpy.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return found


class _ByNumpy(torch.autograd.Function):
    """A linear layer and its gradients in three multiplications. I inputs, O outputs, N vectors."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight_OI: Tensor, bias_O: Tensor | None) -> Tensor:
        x_NI = x.reshape(-1, x.size(-1))
        ctx.save_for_backward(x_NI, weight_OI)
        ctx.has_bias, ctx.shape = bias_O is not None, x.shape
        y = x.new_empty(*x.shape[:-1], len(weight_OI))
        multiply(x_NI, weight_OI.mT, out=y.view(-1, len(weight_OI)))
        return y if bias_O is None else y.add_(bias_O)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        x_NI, weight_OI = ctx.saved_tensors
        grad_NO = grad.reshape(-1, grad.size(-1))
        grad_x, grad_weight_OI = multiply(grad_NO, weight_OI).view(ctx.shape), multiply(grad_NO.mT, x_NI)
        # The sum over all vectors, as a product: that takes a third of the time of torch's.
        grad_bias_O = multiply(grad_NO.new_ones(1, len(grad_NO)), grad_NO)[0] if ctx.has_bias else None
        return grad_x, grad_weight_OI, grad_bias_O
