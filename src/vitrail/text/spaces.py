"""The one change made to a text before it becomes ids: blanks at its ends go, runs of blanks become one space."""

from __future__ import annotations

import re

# Typed blanks, and "▁", which sentencepiece writes for a space and so cannot tell from one. Every other character stays
# what it is: a no-break space before a French "!" is spelling, not layout.
_BLANKS = re.compile("[ \t\n\v\f\r▁]+")
_NOT_A_SPACE = re.compile("[\t\n\v\f\r▁]")


def tidy(text: str) -> str:
    """The text as a vocabulary sees it, and as decoding gives it back."""
    if "  " in text or _NOT_A_SPACE.search(text):  # seldom, and looking is four times as fast as replacing
        text = _BLANKS.sub(" ", text)
    return text.strip(" ")
