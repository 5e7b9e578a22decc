"""Our punctuation normaliser against sacremoses, which transformers uses, on random texts of the signs it knows."""

import random

import pytest
from sacremoses import MosesPunctNormalizer

from vitrail.text.punctuation import normalised

SIGNS = [*"ab12 ()%:;,.!?'\"`´‘’‚“”„–—…«»<\r\t", *["\u00a0"] * 5, "nº", "ºC", "cm", "''", "´´", " "]


@pytest.mark.parametrize("language", ["en", "fr", "de", "es", "cs", "cz", "fi", ""])
def test_punctuation_is_normalised_as_by_sacremoses(language):
    dice = random.Random(language)
    theirs = MosesPunctNormalizer(language)
    for _ in range(500):
        text = "".join(dice.choices(SIGNS, k=dice.randint(1, 14)))
        assert normalised(text, language) == theirs.normalize(text), repr(text)
