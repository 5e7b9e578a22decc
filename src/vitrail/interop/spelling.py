"""How the ids of a vocabulary are spelled outside: Marian's names for the special symbols, `>>fr<<` for languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vitrail.interop.layout import code_of
from vitrail.text import FIRST_LANGUAGE, ListedPieces, Subwords, Tokenizer

PADDING, UNKNOWN, START, END = "<pad>", "<unk>", "<s>", "</s>"  # in the order of our ids
SPECIAL = (PADDING, UNKNOWN, START, END)


def spelled(tokenizer: Tokenizer, languages: Sequence[str]) -> list[str]:
    """The name of every id."""
    symbols = [*SPECIAL, *map(code_of, languages)]
    assert len(symbols) == FIRST_LANGUAGE + len(languages)
    return [*symbols, *(tokenizer.token(number) for number in range(len(symbols), tokenizer.size))]


def spelled_twice(tokenizer: Tokenizer, languages: Sequence[str]) -> str | None:
    """A name that two ids would have, if there is one: a text piece that is spelled like a symbol."""
    return next((name for name, ids in Counter(spelled(tokenizer, languages)).items() if ids > 1), None)


def sentencepiece_of(tokenizer: Tokenizer) -> bytes | None:
    """The sentencepiece model that splits texts for a vocabulary; None if none does."""
    return tokenizer.model if isinstance(tokenizer, Subwords | ListedPieces) else None
