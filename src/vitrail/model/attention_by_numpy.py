"""Equation (1) and its gradient where sentences are short, on one core.

Tens of thousands of small products: numpy multiplies each where it lies. torch copies them together first, or calls a
library for each that is made for large ones: either takes longer. Packed sentences are taken run by run.
"""

from __future__ import annotations

from math import inf
from typing import Any

import torch
from torch import Tensor

from vitrail.model.masks import mask_future
from vitrail.model.multiply import multiply, numpy_multiplies_here
from vitrail.model.packed import Sight

VECTOR = 16  # floats that a CPU takes at a time (AVX-512; others take fewer, and 16 as two or four times)
SHORT = 128  # keys of a sentence; with more of them, keeping every weight would take more memory than it saves time


def numpy_attends(longest: int) -> bool:
    """Whether attention is numpy's for this thread, in batches whose longest sentence has so many tokens."""
    return numpy_multiplies_here() and longest <= SHORT


def attend_by_numpy(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, visible: Tensor | Sight | None) -> Tensor:
    """Mix, for every query, the values of the keys it finds relevant."""
    z_BHTK: Tensor = _Attend.apply(q_BHTK, k_BHSK, v_BHSK, visible)  # type: ignore[no-untyped-call]
    return z_BHTK


class _Attend(torch.autograd.Function):
    """All runs of a batch: with padding it is one run, and each row a sentence."""

    @staticmethod
    def forward(ctx: Any, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSK: Tensor, visible: Tensor | Sight | None) -> Tensor:
        z_BHTK, weights = _heads_apart(q_BHTK), list[Tensor]()
        queries, keys = _of_queries(visible, q_BHTK, z_BHTK), _of_keys(visible, k_BHSK, v_BHSK)
        for (q, z), (k, v) in zip(queries, keys, strict=True):
            weights.append(_weigh(q, k, visible))
            multiply(weights[-1][..., : k.size(2)], v, out=z)
        ctx.visible = visible
        ctx.save_for_backward(q_BHTK, k_BHSK, v_BHSK, *weights)
        return z_BHTK

    @staticmethod
    def backward(ctx: Any, grad_BHTK: Tensor) -> tuple[Tensor | None, ...]:
        q_BHTK, k_BHSK, v_BHSK, *weights_of_runs = ctx.saved_tensors
        grad_q, grad_k, grad_v = map(_heads_apart, (q_BHTK, k_BHSK, v_BHSK))
        queries = _of_queries(ctx.visible, grad_BHTK, q_BHTK, grad_q)
        keys = _of_keys(ctx.visible, k_BHSK, v_BHSK, grad_k, grad_v)
        for weights, (grad, q, to_q), (k, v, to_k, to_v) in zip(weights_of_runs, queries, keys, strict=True):
            grad_scores = _back_through_softmax(grad, v, weights, scale=q.size(-1) ** -0.5)
            multiply(grad_scores, k, out=to_q)
            multiply(grad_scores.mT, q, out=to_k)
            multiply(weights[..., : k.size(2)].mT, grad, out=to_v)
        return grad_q, grad_k, grad_v, None


def _of_queries(visible: Tensor | Sight | None, *x: Tensor) -> list[tuple[Tensor, ...]]:
    """Of each run what belongs to its queries, a sentence a row."""
    return list(zip(*map(visible.of_queries, x), strict=True)) if isinstance(visible, Sight) else [x]


def _of_keys(visible: Tensor | Sight | None, *x: Tensor) -> list[tuple[Tensor, ...]]:
    return list(zip(*map(visible.of_keys, x), strict=True)) if isinstance(visible, Sight) else [x]


def _weigh(q_BHTK: Tensor, k_BHSK: Tensor, visible: Tensor | Sight | None) -> Tensor:
    """The weights of a run, and zeros behind them."""
    keys = k_BHSK.size(2)
    # Filled up with keys that nobody looks at, since a processor takes so many at a time.
    scaled_BHTP = q_BHTK.new_empty(*q_BHTK.shape[:3], -(-keys // VECTOR) * VECTOR)
    scaled_BHTP[..., keys:] = -inf
    multiply(q_BHTK, k_BHSK.mT, out=scaled_BHTP[..., :keys])
    scaled_BHTP.mul_(q_BHTK.size(-1) ** -0.5)
    if visible is None or (isinstance(visible, Sight) and visible.ahead):
        return scaled_BHTP.softmax(-1)
    visible_B1TS = mask_future(keys, q_BHTK.device) if isinstance(visible, Sight) else visible
    bias_B1TS = torch.zeros(visible_B1TS.shape, dtype=q_BHTK.dtype).masked_fill_(~visible_B1TS, -inf)
    scaled_BHTP[..., :keys] += bias_B1TS
    weights_BHTP = scaled_BHTP.softmax(-1)
    sees_nothing_B1T1 = ~visible_B1TS.any(-1, keepdim=True)
    return weights_BHTP.masked_fill_(sees_nothing_B1T1, 0.0) if sees_nothing_B1T1.any() else weights_BHTP


def _back_through_softmax(grad_BHTK: Tensor, v_BHSK: Tensor, weights_BHTP: Tensor, *, scale: float) -> Tensor:
    """The gradient of the scores."""
    keys = v_BHSK.size(2)
    grad_weights_BHTP = torch.empty_like(weights_BHTP)
    grad_weights_BHTP[..., keys:] = 0.0
    multiply(grad_BHTK, v_BHSK.mT, out=grad_weights_BHTP[..., :keys])
    grad_BHTP: Tensor = torch._softmax_backward_data(grad_weights_BHTP, weights_BHTP, -1, weights_BHTP.dtype)
    return grad_BHTP.mul_(scale)[..., :keys]


def _heads_apart(like_BHTK: Tensor) -> Tensor:
    """Room for as many vectors, those of a position beside each other in memory: joining the heads is then no work."""
    batch, heads, positions, d_k = like_BHTK.shape
    return like_BHTK.new_empty(batch, positions, heads, d_k).transpose(1, 2)
