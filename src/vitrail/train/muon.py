"""Muon: every direction of a gradient counts the same, however strong it is (Jordan et al. 2024).

A few strong directions dominate a matrix's gradient, and Adam follows those. Muon decomposes the mean of the past
gradients, as if into U·S·Vᵀ, and steps along U·Vᵀ: every direction has the same strength, even a rare one. It updates
the matrices inside the layers. AdamW updates embeddings, biases and norms, whose rows or numbers are independent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
LIKE_ADAM = 0.2  # the typical size of an update, so that Adam's learning rates and decay fit (Liu et al. 2025)
ROUNDS = 5
# A polynomial that moves singular values between 0 and 1 towards 1. It is tuned for speed, not for accuracy.
LINEAR, CUBIC, QUINTIC = 3.4445, -4.7750, 2.0315


class Muon(torch.optim.AdamW):
    """Muon for the weights of linear layers, AdamW for everything else, with one learning rate."""

    def __init__(self, model: nn.Module, *, weight_decay: float, rounds_in: torch.dtype | None = None) -> None:
        """`rounds_in` is the precision in which directions are equalised; bfloat16 is enough."""
        self.rounds_in = rounds_in
        matrices = [layer.weight for layer in model.modules() if isinstance(layer, nn.Linear)]
        known = {id(matrix) for matrix in matrices}
        others = [parameter for parameter in model.parameters() if id(parameter) not in known]
        groups: list[dict[str, Any]] = [
            {"params": [parameter for parameter in group if parameter.requires_grad]} for group in (matrices, others)
        ]
        super().__init__(groups, lr=0.0, betas=(0.9, 0.98), eps=1e-9, weight_decay=weight_decay, fused=True)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Update the matrices here. AdamW updates the rest: it skips parameters without a gradient."""
        overflowed = getattr(self, "found_inf", None)  # set by fp16's gradient scaler; AdamW checks it too
        if overflowed is not None and overflowed.item():
            return None
        group = self.param_groups[0]
        for matrices in _by_shape(group["params"]):
            moves = orthogonal(torch.stack([self._with_momentum(matrix) for matrix in matrices]), self.rounds_in)
            size = LIKE_ADAM * max(matrices[0].shape) ** 0.5
            for matrix, move in zip(matrices, moves, strict=True):
                matrix.mul_(1 - group["lr"] * group["weight_decay"])
                matrix.sub_(move, alpha=group["lr"] * size)
                matrix.grad = None
        return super().step(closure)

    def _with_momentum(self, matrix: Tensor) -> Tensor:
        """The running mean of the gradients, with Nesterov's look ahead."""
        assert matrix.grad is not None
        state = self.state[matrix]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(matrix)
            state["step"] = torch.tensor(0.0)  # AdamW expects it when a state is restored
        momentum: Tensor = state["momentum"].lerp_(matrix.grad, 1 - MOMENTUM)
        return matrix.grad.lerp(momentum, MOMENTUM)


def orthogonal(matrices: Tensor, rounds_in: torch.dtype | None = None) -> Tensor:
    """Matrices with the same singular vectors, and singular values near 1 (0.7 to 1.2), by Newton-Schulz iteration.

    Directions with less than a hundredth of the norm may stay below that.
    """
    is_tall = matrices.size(-2) > matrices.size(-1)
    x_NRC = matrices.mT if is_tall else matrices
    x_NRC = (x_NRC / (x_NRC.norm(dim=(-2, -1), keepdim=True) + 1e-7)).to(rounds_in or matrices.dtype)
    for _ in range(ROUNDS):
        square_NRR = x_NRC @ x_NRC.mT
        pull_NRR = torch.baddbmm(square_NRR, square_NRR, square_NRR, beta=CUBIC, alpha=QUINTIC)
        x_NRC = torch.baddbmm(x_NRC, pull_NRR, x_NRC, beta=LINEAR)
    x_NRC = x_NRC.to(matrices.dtype)
    return x_NRC.mT if is_tall else x_NRC


def _by_shape(matrices: Iterable[Tensor]) -> Iterable[list[Tensor]]:
    """Group matrices by shape: many small products in one batch are faster than one by one."""
    found: dict[torch.Size, list[Tensor]] = {}
    for matrix in matrices:
        if matrix.grad is not None:
            found.setdefault(matrix.shape, []).append(matrix)
    return found.values()
