"""Moses' punctuation normaliser: typographic quotes, dashes and spaces become plain ones.

The OPUS-MT models were trained on text that went through it (Koehn et al. 2007, "Moses", normalize-punctuation.perl).
These are its rules in its order, as the Python port sacremoses applies them; a test compares the two.
"""

from __future__ import annotations

import re
from functools import cache

_NO_BREAK = "\u00a0"
_GERMAN_OR_ROMANCE = ("de", "es", "fr")
_COMMA_IN_NUMBERS = ("de", "es", "cz", "cs", "fr")

_SPACING = (
    (r"\r", ""),
    (r"\(", " ("),
    (r"\)", ") "),
    (r" +", " "),
    (r"\) ([.!:?;,])", r")\1"),
    (r"\( ", "("),
    (r" \)", ")"),
    (r"(\d) %", r"\1%"),
    (r" ([:;])", r"\1"),
)
_QUOTES_AND_DASHES = (
    ("`", "'"),
    ("''", ' " '),
    ("[„“”]", '"'),
    ("–", "-"),
    ("—", " - "),
    (" +", " "),
    ("´", "'"),
    ("[‘‚’]", "'"),
    ("''", '"'),
    ("…", "..."),
)
_GUILLEMETS = ((f"{_NO_BREAK}«{_NO_BREAK}|«{_NO_BREAK}|«|{_NO_BREAK}»{_NO_BREAK}|{_NO_BREAK}»|»", '"'),)
_NO_BREAK_SPACES = (
    (f"{_NO_BREAK}%", "%"),
    (f"nº{_NO_BREAK}", "nº "),
    (f"{_NO_BREAK}:", ":"),
    (f"{_NO_BREAK}ºC", " ºC"),
    (f"{_NO_BREAK}cm", " cm"),
    (rf"{_NO_BREAK}([?!;])", r"\1"),
    (f",{_NO_BREAK}", ", "),
    (" +", " "),
)
_AFTER_QUOTES = {
    "en": (('"([,.]+)', r'\1"'),),
    **dict.fromkeys(_GERMAN_OR_ROMANCE, ((',"', '",'), (r'(\.+)"(\s*[^<])', r'"\1\2'))),
}

Rules = tuple[tuple[re.Pattern[str], str], ...]


def normalised(text: str, language: str) -> str:
    """The text with plain punctuation, by the rules of its language (`en`, `fr`, …; any other has the common ones)."""
    for pattern, replacement in _rules(language):
        text = pattern.sub(replacement, text)
    return text.strip()


@cache
def _rules(language: str) -> Rules:
    decimal = "," if language in _COMMA_IN_NUMBERS else "."
    numbers = ((rf"(\d){_NO_BREAK}(\d)", rf"\1{decimal}\2"),)
    quotes = _AFTER_QUOTES.get(language, ())
    every = (*_SPACING, *_QUOTES_AND_DASHES, *_GUILLEMETS, *_NO_BREAK_SPACES, *quotes, *numbers)
    return tuple((re.compile(pattern), replacement) for pattern, replacement in every)
