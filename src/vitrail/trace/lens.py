"""What the decoder would say after each of its layers: their outputs through the final norm and the final linear layer.

nostalgebraist, "interpreting GPT: the logit lens", 2020. Only the last layer was trained to be read in this way; that
the others can be read at all is because every layer adds to the same vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from vitrail.model import Transformer
from vitrail.trace.format import Array

MOST_PROBABLE = 8


def lens(model: Transformer, arrays: dict[str, Array], target: Sequence[int]) -> dict[str, dict[str, Any]]:
    """For the decoder's input and after each layer: the most probable ids at each step, and how the chosen one fares.

    `ids` [T, 8] with `log_probs`; `chosen` [T], the log-probability of the id that was chosen, and its `rank` from 0.
    """
    names = ["target.sum", *(f"decoder.{layer}.output" for layer in range(model.config.decoder_layers))]
    device = next(model.parameters()).device
    chosen_T1 = torch.tensor(target, device=device)[:, None]
    found = {}
    with torch.inference_mode():
        for name in names:
            x_1TD = torch.from_numpy(arrays[name]).to(device)[None]
            log_probs_TV = model.output(model.decoder.final_norm(x_1TD))[0].float().log_softmax(-1)
            best = log_probs_TV.topk(min(MOST_PROBABLE, log_probs_TV.size(-1)))
            own_T1 = log_probs_TV.gather(1, chosen_T1)
            found[name] = {
                "ids": best.indices.tolist(),
                "log_probs": best.values.cpu().numpy(),
                "chosen": own_T1[:, 0].cpu().numpy(),
                "rank": (log_probs_TV > own_T1).sum(-1).tolist(),
            }
    return found
