"""The loss, written plainly: cross-entropy with label smoothing (section 5.4 of the paper).

Training computes the same without holding all logits (objective.py); a test holds it equal to this.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from vitrail.text import PAD


def smoothed_loss(logits_BTV: Tensor, target_BT: Tensor, smoothing: float) -> Tensor:
    """The sum over target tokens of the cross-entropy with the smoothed target; padding counts for nothing.

    A sum, not a mean: a step divides once by all of its tokens, however it was split into batches.
    """
    return F.cross_entropy(
        logits_BTV.flatten(0, 1), target_BT.flatten(), ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
    )


def smoothed_target(target_BT: Tensor, vocabulary: int, smoothing: float) -> Tensor:
    """The distribution that the model is asked for: 1 - ε on the right token, and ε shared by the whole vocabulary."""
    return F.one_hot(target_BT, vocabulary) * (1 - smoothing) + smoothing / vocabulary
