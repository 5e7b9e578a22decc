"""Word alignment: which word of the source each word of the translation looked at, from the weights of attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vitrail.runtime import Runtime
from vitrail.text import EOS, Tokenizers
from vitrail.text.places import word_places, words_of

Links = tuple[tuple[int, int], ...]  # the numbers, from 0, of a word of the source and one of the translation


class Pair(NamedTuple):
    """A source and its translation, as text and as rows of ids."""

    source: str
    row: Sequence[int]
    target: str
    target_row: Sequence[int]


def aligned(pair: Pair, weights_TS: NDArray[Any], tokenizers: Tokenizers) -> Links:
    """Link every word of a translation to the word of the source that its ids looked at most, together.

    `weights_TS[t, s]` is how much the prediction of id t looked at the source's id s. The language symbol and `<eos>`,
    which attract attention that belongs nowhere, are left out.
    """
    first = 1 if tokenizers.languages else 0
    source_places = word_places(tokenizers.source, pair.row[first:-1], pair.source)
    target_places = word_places(tokenizers.target, [n for n in pair.target_row if n != EOS], pair.target)
    words = len(words_of(pair.target))
    looked = np.zeros((words, max(source_places, default=-1) + 1))
    for t, of_target in enumerate(target_places):
        for s, of_source in enumerate(source_places, start=first):
            if of_target < words:
                looked[of_target, of_source] += weights_TS[t, s]
    return tuple((int(row.argmax()), word) for word, row in enumerate(looked) if row.any())


def align_all(runtime: Runtime, pairs: Sequence[Pair], tokenizers: Tokenizers, heads: str) -> list[Links]:
    """The links of every pair, from the weights of the chosen heads."""
    looked = runtime.attention([pair.row for pair in pairs], [pair.target_row for pair in pairs], heads)
    return [aligned(pair, weights_TS.numpy(), tokenizers) for pair, weights_TS in zip(pairs, looked, strict=True)]


def pharaoh(links: Links) -> str:
    """Links in the usual format: `0-0 1-2`."""
    return " ".join(f"{source}-{target}" for source, target in links)
