"""Equation (1) and its gradient over packed sentences, run by run, on one core.

These are tens of thousands of small products. numpy multiplies each in place. torch copies them together first, or
calls a library that is made for large ones: both take longer.
"""

from __future__ import annotations

from math import inf
from typing import Any

import torch
from torch import Tensor

from vitrail.fast.packing import Sight
from vitrail.fast.products import multiply
from vitrail.model.masks import mask_future


def attend(q_1HTK: Tensor, k_1HSK: Tensor, v_1HSK: Tensor, sight: Sight) -> Tensor:
    """Mix, for every query, the values of the keys of its own sentence that it finds relevant."""
    z_1HTK: Tensor = _Attend.apply(*map(_in_full_precision, (q_1HTK, k_1HSK, v_1HSK)), sight)  # type: ignore[no-untyped-call]
    return z_1HTK


def _in_full_precision(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))  # numpy has no bf16


class _Attend(torch.autograd.Function):
    """T queries and S keys of all sentences. Every run is a batch of sentences of the same lengths."""

    @staticmethod
    def forward(ctx: Any, q_1HTK: Tensor, k_1HSK: Tensor, v_1HSK: Tensor, sight: Sight) -> Tensor:
        z_1HTK, weights = _joinable(q_1HTK), list[Tensor]()
        queries = zip(*map(sight.of_queries, (q_1HTK, z_1HTK)), strict=True)
        keys = zip(*map(sight.of_keys, (k_1HSK, v_1HSK)), strict=True)
        for (q, z), (k, v) in zip(queries, keys, strict=True):
            weights.append(_weigh(q, k, sight))
            multiply(weights[-1], v, out=z)
        ctx.sight = sight
        ctx.save_for_backward(q_1HTK, k_1HSK, v_1HSK, *weights)
        return z_1HTK

    @staticmethod
    def backward(ctx: Any, grad_1HTK: Tensor) -> tuple[Tensor | None, ...]:
        q_1HTK, k_1HSK, v_1HSK, *weights_of_runs = ctx.saved_tensors
        grad_q, grad_k, grad_v = map(_joinable, (q_1HTK, k_1HSK, v_1HSK))
        queries = zip(*map(ctx.sight.of_queries, (grad_1HTK, q_1HTK, grad_q)), strict=True)
        keys = zip(*map(ctx.sight.of_keys, (k_1HSK, v_1HSK, grad_k, grad_v)), strict=True)
        for weights, (grad, q, to_q), (k, v, to_k, to_v) in zip(weights_of_runs, queries, keys, strict=True):
            grad_scores = _back_through_softmax(grad, v, weights, scale=q.size(-1) ** -0.5)
            multiply(grad_scores, k, out=to_q)
            multiply(grad_scores.mT, q, out=to_k)
            multiply(weights.mT, grad, out=to_v)
        return grad_q, grad_k, grad_v, None


def _weigh(q_BHTK: Tensor, k_BHSK: Tensor, sight: Sight) -> Tensor:
    """The weights of a run."""
    keys = k_BHSK.size(2)
    scaled_BHTS = q_BHTK.new_empty(*q_BHTK.shape[:3], keys)
    multiply(q_BHTK, k_BHSK.mT, out=scaled_BHTS)
    scaled_BHTS.mul_(q_BHTK.size(-1) ** -0.5)
    if not sight.ahead:
        scaled_BHTS.masked_fill_(~mask_future(keys, q_BHTK.device), -inf)
    return scaled_BHTS.softmax(-1)


def _back_through_softmax(grad_BHTK: Tensor, v_BHSK: Tensor, weights_BHTS: Tensor, *, scale: float) -> Tensor:
    """The gradient of the scores."""
    grad_weights_BHTS = torch.empty_like(weights_BHTS)
    multiply(grad_BHTK, v_BHSK.mT, out=grad_weights_BHTS)
    grad_BHTS: Tensor = torch._softmax_backward_data(grad_weights_BHTS, weights_BHTS, -1, weights_BHTS.dtype)
    return grad_BHTS.mul_(scale)


def _joinable(like_1HNK: Tensor) -> Tensor:
    """Room for as many vectors, with the heads of a position next to each other: joining them is then free."""
    _, heads, tokens, d_k = like_1HNK.shape
    return like_1HNK.new_empty(1, tokens, heads, d_k).transpose(1, 2)
