"""Score a given translation with one teacher-forced pass, without a search."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from vitrail.config import DecodeConfig
from vitrail.decode.hypothesis import Hypothesis
from vitrail.decode.request import rectangle
from vitrail.decode.step import ForcedModel
from vitrail.text.special import BOS, EOS, PAD


def score(
    model: ForcedModel, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], config: DecodeConfig
) -> list[Hypothesis]:
    """Score one batch of given targets: rows of ids, with EOS at the end of finished ones."""
    assert not getattr(model, "training", False), "the model is in training mode, with dropout: call eval() first"
    assert len(sources) == len(targets), "one target for each source"
    if not sources:
        return []
    source_BS = rectangle(sources, fill=PAD)
    input_BT = rectangle([(BOS, *row[:-1]) for row in targets], fill=PAD)
    # Padding is looked up like any other id, and cut off below.
    wanted_BT = rectangle([row or (EOS,) for row in targets], fill=PAD)
    with torch.inference_mode():
        log_probs_BTV = model.log_probs(source_BS, input_BT)
        log_probs_BT = log_probs_BTV.gather(-1, wanted_BT.to(log_probs_BTV.device)[..., None]).squeeze(-1)
    return [
        Hypothesis.from_row(row, values[: len(row)], config)
        for row, values in zip(targets, log_probs_BT.tolist(), strict=True)
    ]
