"""Which word a token belongs to, so that subword pieces can be shown as the words they spell."""

from __future__ import annotations

from collections.abc import Sequence

from vitrail.text import FIRST_LANGUAGE, Tokenizer

SPACE = "▁"  # how sentencepiece writes the space before a word


def word_numbers(tokenizer: Tokenizer, ids: Sequence[int], languages: int) -> list[int]:
    """The number of the word that each token belongs to, from 0 on; -1 for special symbols."""
    numbers: list[int] = []
    number = -1
    for token_id in ids:
        if token_id < FIRST_LANGUAGE + languages:
            numbers.append(-1)
            continue
        # A text's first piece begins a word even where no space stands before it.
        if number < 0 or tokenizer.kind == "word" or tokenizer.token(token_id).startswith(SPACE):
            number += 1
        numbers.append(number)
    return numbers
