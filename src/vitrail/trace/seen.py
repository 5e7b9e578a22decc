"""Whether a sentence was in the training data, if that data is still beside the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vitrail.data import Prepared
from vitrail.data.shards import Shard

if TYPE_CHECKING:
    from vitrail.translator import Translator


def seen_in_training(translator: Translator, source: Sequence[int]) -> str | None:
    """`training` if a training pair has this source row, language symbol included; else `held out`; None if unknown."""
    folder = translator.folder
    if folder is None:
        return None
    if not Prepared.is_whole(folder.data):
        return None  # the model was copied without its data
    prepared = Prepared.open(folder.data)
    if prepared.tokenizers.source.size != translator.tokenizers.source.size:
        return None  # the data was replaced: its ids mean other words
    row = np.array(source)
    return "training" if any(_contains(shard, row) for shard in prepared.train) else "held out"


def _contains(shard: Shard, row: np.ndarray) -> bool:
    for records in shard.blocks():
        starts = records["start"][records["source"] == len(row)].astype(np.int64)
        for place, token in enumerate(row):  # each token narrows the candidates
            starts = starts[shard.tokens[starts + place] == token]
        if len(starts):
            return True
    return False
