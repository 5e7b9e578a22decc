"""The loss in its plain form: cross-entropy with label smoothing (section 5.4 of the paper).

Training computes the same without keeping all logits in memory (objective.py); a test checks that both are equal.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from vitrail.text import PAD


def smoothed_loss(logits_BTV: Tensor, target_BT: Tensor, smoothing: float) -> Tensor:
    """The cross-entropy with the smoothed target, summed over target tokens; padding is ignored.

    A sum, not a mean: a step divides once by the number of its tokens, however it is split into batches.
    """
    return F.cross_entropy(
        logits_BTV.flatten(0, 1), target_BT.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
    )


def smoothed_target(target_BT: Tensor, vocabulary: int, smoothing: float) -> Tensor:
    """The target distribution: 1 - ε on the correct token, and ε spread over the whole vocabulary."""
    return F.one_hot(target_BT, vocabulary) * (1 - smoothing) + smoothing / vocabulary
