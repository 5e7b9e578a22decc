"""Which input mattered: leave one word of the source out at a time, and predict the same translation again.

Attention only says where the model looked. This says what it needed, for this sentence, exactly: each row is a forward
pass of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from vitrail.decode.request import rectangle
from vitrail.model import Transformer
from vitrail.text.special import BOS, PAD

MOST_WORK = 4e10  # multiplications, about a second or two; a longer sentence is not measured


def left_out(
    model: Transformer, source: Sequence[int], words: Sequence[int], target: Sequence[int]
) -> dict[str, Any] | None:
    """For each word of the source (`words` has the word of each token, or -1): the translation's chances without it.

    `places`: the tokens of each word. `log_probs` [W, T]: of the translation's ids, each after the ids before it.
    `best` [W, T]: the id that would now be the most probable. None if that would take long.
    """
    places = [[at for at, other in enumerate(words) if other == word] for word in range(max(words, default=-1) + 1)]
    size = sum(parameter.numel() for parameter in model.parameters())
    if not places or len(places) * (len(source) + len(target)) * size > MOST_WORK:
        return None
    rows = [[token_id for at, token_id in enumerate(source) if at not in gone] for gone in places]
    device = next(model.parameters()).device
    source_BS = rectangle(rows, fill=PAD).to(device)
    input_BT = torch.tensor([[BOS, *target[:-1]]] * len(rows), device=device)
    wanted_BT1 = torch.tensor([list(target)] * len(rows), device=device)[..., None]
    with torch.inference_mode():
        log_probs_BTV = model.log_probs(source_BS, input_BT)
        return {
            "places": places,
            "log_probs": log_probs_BTV.gather(-1, wanted_BT1)[..., 0].cpu().numpy(),
            "best": log_probs_BTV.argmax(-1).tolist(),
        }
