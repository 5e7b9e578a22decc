"""Which word of a text each of its ids belongs to. Words are what stands between spaces."""

from __future__ import annotations

from collections.abc import Sequence

from vitrail.config import VOCABULARIES
from vitrail.text.spaces import tidy
from vitrail.text.tokenizer import Tokenizer
from vitrail.text.words import split_words

SPACE = "▁"  # sentencepiece's mark for the space before a word


def words_of(text: str) -> list[str]:
    """The words of a text."""
    return tidy(text).split(" ")


def word_places(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[int]:
    """The number, from 0, of the word that each id belongs to; `ids` are those of `text`, without special symbols."""
    if VOCABULARIES[tokenizer.kind].whole_words:
        places = [place for place, word in enumerate(words_of(text)) for _ in split_words(word)]
        return places[: len(ids)]  # a final mark may have no id
    places = []
    place, is_open = -1, False  # open: nothing has followed the space yet
    for token in map(tokenizer.token, ids):
        if place < 0 or (token.startswith(SPACE) and not is_open):
            place += 1
        is_open = token == SPACE
        places.append(place)
    return places
