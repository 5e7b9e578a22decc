"""Who may look at whom: True where a query (T) may look at a key (S). Section 3.2.3 of the paper."""

from __future__ import annotations

import torch
from torch import Tensor

from vitrail.text.special import PAD


def mask_padding(ids_BS: Tensor) -> Tensor:
    """Every query sees every word of its own sentence, and no padding."""
    return (ids_BS != PAD)[:, None, None, :]


def mask_future(length: int, device: torch.device) -> Tensor:
    """Every position sees itself and what came before it.

    A target needs no more: its padding is on the right, so it lies in the future of every word.
    """
    visible_TS = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    return visible_TS[None, None]
