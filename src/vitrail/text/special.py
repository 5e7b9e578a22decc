"""Special symbols, which have ids but no spelling: typed text never becomes one of them."""

from __future__ import annotations

from typing import Final

PAD: Final = 0
UNK: Final = 1
BOS: Final = 2
EOS: Final = 3
SPECIAL_TOKENS: Final = ("<pad>", "<unk>", "<bos>", "<eos>")
FIRST_LANGUAGE: Final = len(SPECIAL_TOKENS)  # language symbols follow: <2en>, <2fr>, …, in the given order


def language_token(language: str) -> str:
    """The symbol that asks for a translation into `language`: "fr" becomes "<2fr>"."""
    return f"<2{language}>"


# The largest file of a vocabulary, in bytes. The settings allow 1,000,000 entries.
LARGEST: Final = 1 << 25
