"""A linear layer for inference: its weights laid out once for the library that multiplies.

torch multiplies float32 with Intel's MKL, which uses half of what other vendors' processors can do. oneDNN, which comes
with torch, uses all of it, if the weights are in a layout of its own.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_SMALL = 1 << 19  # multiply-adds of a product: for fewer, calling oneDNN costs more than it saves


class Linear:
    """x · Wᵀ + b, and ReLU if asked for. Layers that read the same input make one, their outputs side by side."""

    def __init__(self, weight_OI: Tensor, bias_O: Tensor | None, *, relu: bool = False) -> None:
        self.weight_OI, self.bias_O = weight_OI.detach(), None if bias_O is None else bias_O.detach()
        self.relu = relu
        self.packed, self.size = _pack(self.weight_OI), weight_OI.numel()

    @classmethod
    def of(cls, *layers: nn.Linear, relu: bool = False) -> Linear:
        """The layers as one."""
        if len(layers) == 1:
            return cls(layers[0].weight, layers[0].bias, relu=relu)
        biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
        assert len(biases) in (0, len(layers)), "all layers have a bias, or none"
        return cls(torch.cat([layer.weight for layer in layers]), torch.cat(biases) if biases else None, relu=relu)

    def __call__(self, x_NI: Tensor) -> Tensor:
        """One row for each row of `x`."""
        rows = x_NI.size(0)
        if self.packed is None or rows * self.size < _SMALL:
            plain_NO = F.linear(x_NI, self.weight_OI, self.bias_O)
            return plain_NO.relu_() if self.relu else plain_NO
        then = "relu" if self.relu else "none"
        y_NO: Tensor = torch.ops.mkldnn._linear_pointwise(x_NI, self.packed, self.bias_O, then, [], "")
        return y_NO


def _pack(weight_OI: Tensor) -> Tensor | None:
    """The weights in oneDNN's layout, if it can multiply them. The calls are those of torch's own compiler."""
    operators = torch.ops.mkldnn
    has_onednn = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    if weight_OI.dtype != torch.float32 or weight_OI.device.type != "cpu" or not has_onednn:
        return None
    if not hasattr(operators, "_reorder_linear_weight") or not hasattr(operators, "_linear_pointwise"):
        return None
    typical_rows = 128  # the layout does not depend on it
    packed: Tensor = operators._reorder_linear_weight(weight_OI.contiguous(), typical_rows)
    return packed
