"""The only normalisation of a text: blanks at its ends are removed, and runs of blanks become one space."""

from __future__ import annotations

import re

# Typed blanks, and "▁", which sentencepiece writes for a space and cannot tell from one. Every other character stays:
# a no-break space before a French "!" is spelling, not layout.
_BLANKS = re.compile("[ \t\n\v\f\r▁]+")
_NOT_A_SPACE = re.compile("[\t\n\v\f\r▁]")


def tidy(text: str) -> str:
    """The text that a vocabulary encodes, and that decoding returns."""
    if "  " in text or _NOT_A_SPACE.search(text):  # rare, and this check is four times as fast as replacing
        text = _BLANKS.sub(" ", text)
    return text.strip(" ")
