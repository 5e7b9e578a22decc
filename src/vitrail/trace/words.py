"""Which word a token belongs to, so that the page can show subword pieces as whole words."""

from __future__ import annotations

from collections.abc import Sequence

from vitrail.config import VOCABULARIES
from vitrail.text import FIRST_LANGUAGE, Tokenizer

SPACE = "▁"  # sentencepiece's mark for the space before a word


def word_numbers(tokenizer: Tokenizer, ids: Sequence[int], languages: int) -> list[int]:
    """The number, from 0, of the word that each token belongs to; -1 for special symbols."""
    numbers: list[int] = []
    number = -1
    for token_id in ids:
        if token_id < FIRST_LANGUAGE + languages:
            numbers.append(-1)
            continue
        # The first piece begins a word even without a space before it.
        if number < 0 or VOCABULARIES[tokenizer.kind].whole_words or tokenizer.token(token_id).startswith(SPACE):
            number += 1
        numbers.append(number)
    return numbers
