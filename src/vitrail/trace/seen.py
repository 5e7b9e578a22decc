"""Whether a sentence was in the training data, if that data is still beside the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vitrail.data import Prepared
from vitrail.data.shards import Shard
from vitrail.errors import FolderError

if TYPE_CHECKING:
    from vitrail.translator import Translator


def seen_in_training(translator: Translator, source: Sequence[int]) -> str | None:
    """`training` if a training pair has this source row, language symbol included; else `held out`; None if unknown."""
    folder = translator.folder
    if folder is None:
        return None
    try:
        prepared = Prepared.open(folder.data)
    except FolderError:
        return None  # the model was copied without its data
    if prepared.tokenizers.source.size != translator.tokenizers.source.size:
        return None  # the data was replaced: its ids mean other words
    row = np.array(source)
    return "training" if any(_contains(shard, row) for shard in prepared.train) else "held out"


def _contains(shard: Shard, row: np.ndarray) -> bool:
    starts = shard.index["start"][shard.index["source"] == len(row)].astype(np.int64)
    for place, token in enumerate(row):  # each token narrows the candidates
        starts = starts[shard.tokens[starts + place] == token]
    return len(starts) > 0
