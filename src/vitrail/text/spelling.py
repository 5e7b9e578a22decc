"""How each id of a vocabulary is spelled in running text, with the space before a word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from vitrail.config import VOCABULARIES
from vitrail.text.places import SPACE
from vitrail.text.special import EOS
from vitrail.text.tokenizer import Tokenizer
from vitrail.text.words import split_words

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
STRANGE = "\U00010900"  # stands for a byte of an unknown letter: a letter that is in no word that anyone types


@dataclass(frozen=True)
class Spelling:
    """The spelling of every id. A word is a run of letters, digits and underscores; anything else is a border."""

    tokenizer: Tokenizer
    first: int  # the first id that stands for text: special symbols are not spelled

    @property
    def has_whole_words(self) -> bool:
        """Whether every id is a word."""
        return VOCABULARIES[self.tokenizer.kind].whole_words

    @cached_property
    def of_ids(self) -> tuple[str, ...]:
        """The text of every id; special symbols have none."""
        tokens = [self.tokenizer.token(number) for number in range(self.tokenizer.size)]
        if self.has_whole_words:
            texts = [f" {token}" for token in tokens]
        else:
            texts = [_of_byte(token) or token.replace(SPACE, " ") for token in tokens]
        return tuple(text if number >= self.first else "" for number, text in enumerate(texts))

    @cached_property
    def continuing(self) -> frozenset[int]:
        """The ids that would make a word before them longer."""
        return frozenset(number for number, text in enumerate(self.of_ids) if is_in_word(text[:1]))

    @cached_property
    def closing(self) -> frozenset[int]:
        """The ids after which a word may begin without a space: opening quotes, apostrophes."""
        return frozenset(n for n, text in enumerate(self.of_ids) if text.strip() and not is_in_word(text[-1]))

    def phrase(self, text: str) -> str:
        """A word or phrase as it is spelled here, without a space before it."""
        if self.has_whole_words:
            return " ".join(split_words(text))
        return self.tokenizer.decode(self.tokenizer.encode(text))

    def text(self, ids: tuple[int, ...]) -> str:
        """The text of a translation so far."""
        return "".join(self.of_ids[number] for number in ids if number != EOS)


def _of_byte(token: str) -> str | None:
    """The text of a token that stands for a byte; None for other tokens."""
    byte = _BYTE.fullmatch(token)
    if byte is None:
        return None
    code = int(byte[1], base=16)
    return chr(code) if code < 0x80 else STRANGE  # UTF-8 writes ASCII as single bytes


def is_in_word(character: str) -> bool:
    """Whether a character is a part of words."""
    return character.isalnum() or character == "_"


def forms(phrase: str) -> list[str]:
    """How a phrase may be written: as it is, and if it begins with a small letter, with a capital as well."""
    return [phrase, phrase[0].upper() + phrase[1:]] if phrase[:1].islower() else [phrase]
