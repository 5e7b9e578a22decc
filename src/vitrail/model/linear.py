"""A linear layer as every one of this model's begins: Xavier-uniform weights, biases of zero; and how it multiplies."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ENOUGH = (
    1 << 16
)  # weights of a layer. oneDNN gets ready for every new number of rows: for smaller layers that costs more


class Linear(nn.Linear):
    """torch's linear layer, faster where a CPU learns."""

    def forward(self, x: Tensor) -> Tensor:
        """x·Wᵀ + b."""
        return multiply(x, self.weight, self.bias)


def linear(width_in: int, width_out: int, *, bias: bool) -> nn.Linear:
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
    together = multiply(x, weight, torch.cat(biases) if biases else None)
    return together.split_with_sizes([layer.out_features for layer in layers], dim=-1)


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x·Wᵀ + b as torch does it, or faster, where a CPU learns."""
    learns = weight.requires_grad and torch.is_grad_enabled()
    if learns and _is_for_onednn(x, weight) and not torch.is_autocast_enabled("cpu"):
        found: Tensor = _ByOneDnn.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return found
    return F.linear(x, weight, bias)


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The same, for whoever finds the way back himself.

    torch brings two libraries that multiply float32 on a CPU, and takes MKL. The other is a tenth faster, on AMD at
    least.
    """
    if _is_for_onednn(x, weight):
        found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
        return found
    return F.linear(x, weight, bias)


class _ByOneDnn(torch.autograd.Function):
    """All but the gradient of the weights by oneDNN, which is the slower one where both matrices lie on their sides."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        rows = grad.flatten(0, -2)
        to_x = product(grad, weight.mT) if ctx.needs_input_grad[0] else None
        return to_x, rows.mT @ x.flatten(0, -2), rows.sum(0) if ctx.needs_input_grad[2] else None


def _is_for_onednn(x: Tensor, weight: Tensor) -> bool:
    if x.device.type != "cpu" or x.dtype != torch.float32 or weight.numel() < ENOUGH:
        return False
    return bool(torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled)  # type: ignore[no-untyped-call]
