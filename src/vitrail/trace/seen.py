"""Whether a sentence was in the training data, where that data is still beside the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vitrail.data import Prepared
from vitrail.data.shards import Shard

if TYPE_CHECKING:
    from vitrail.translator import Translator


def seen_in_training(translator: Translator, source: Sequence[int]) -> str | None:
    """`training` if this source row, its language symbol included, was trained on, else `held out`; None: unknown."""
    folder = translator.folder
    if folder is None:
        return None
    if not Prepared.is_whole(folder.data):
        return None  # a model that travelled without its data
    prepared = Prepared.open(folder.data)
    if prepared.tokenizers.source.size != translator.tokenizers.source.size:
        return None  # other data has been put there since: its ids mean other words
    row = np.array(source)
    return "training" if any(_contains(shard, row) for shard in prepared.train) else "held out"


def _contains(shard: Shard, row: np.ndarray) -> bool:
    for records in shard.blocks():
        starts = records["start"][records["source"] == len(row)].astype(np.int64)
        for place, token in enumerate(row):  # each word leaves fewer to compare
            starts = starts[shard.tokens[starts + place] == token]
        if len(starts):
            return True
    return False
