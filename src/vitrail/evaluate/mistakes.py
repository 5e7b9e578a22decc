"""What is wrong with a translation, as far as its text, its source and one reference can tell.

A good translation may use other words than the reference. So words that differ are shown but are no mistake; a mistake
is something that a reader would look into: far too short, far too long, repeated, or left in the source's language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["untranslated", "dropped", "added", "repeated", "copied"]

_WORD = re.compile(r"\w+(?:['’]\w+)*['’]?|[^\w\s]")
_SHARE = 0.2  # of the reference's words: a translation that differs more in length dropped or added something …
_WORDS = 2  # … if it is at least this many
_COPIED = 4  # letters: shorter words are often the same in two languages
_LONGEST = 4  # words that are repeated together


@dataclass(frozen=True)
class Mistake:
    """A kind of mistake, and the words that show it."""

    kind: Kind
    words: tuple[str, ...]


def mistakes(source: str, translation: str, reference: str, unknown: Sequence[str] = ()) -> list[Mistake]:
    """What is wrong with a translation. `unknown` are words for which a sentence was left untranslated."""
    if unknown or (not translation.strip() and reference.strip()):
        return [Mistake("untranslated", tuple(unknown))]
    said, wanted, read = (words_of(text) for text in (translation, reference, source))
    missing, extra = _beyond(wanted, said), _beyond(said, wanted)
    shorter, least = len(wanted) - len(said), max(_WORDS, _SHARE * len(wanted))
    found: list[Mistake] = []
    if shorter >= least and missing:
        found.append(Mistake("dropped", missing))
    if -shorter >= least and extra:
        found.append(Mistake("added", extra))
    if again := _repeated(said, wanted, read):
        found.append(Mistake("repeated", again))
    if same := tuple(word for word in extra if len(word) >= _COPIED and word in read):
        found.append(Mistake("copied", same))
    return found


def words_of(text: str) -> list[str]:
    """The words and punctuation marks of a text, without regard to case."""
    return [word.casefold() for word in _WORD.findall(text)]


def shared(text: str, other: str) -> list[tuple[str, bool]]:
    """A text in parts, each with whether the other text has these words in the same order."""
    places = [found.span() for found in _WORD.finditer(text)]
    is_shared = [False] * len(places)
    for start, _, size in SequenceMatcher(None, words_of(text), words_of(other), autojunk=False).get_matching_blocks():
        is_shared[start : start + size] = [True] * size
    parts: list[tuple[str, bool]] = []
    done = 0
    for (_, end), agrees in zip(places, is_shared, strict=True):
        piece, done = text[done:end], end
        if parts and parts[-1][1] == agrees:
            parts[-1] = (parts[-1][0] + piece, agrees)
        else:
            parts.append((piece, agrees))
    return [*parts, (text[done:], True)] if text[done:] else parts


def _beyond(words: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """The words that occur more often here than there, in order; no punctuation."""
    left = Counter(words) - Counter(others)
    found = []
    for word in words:
        if left[word] > 0 and word[0].isalnum():
            left[word] -= 1
            found.append(word)
    return tuple(found)


def _repeated(said: Sequence[str], *others: Sequence[str]) -> tuple[str, ...]:
    """The longest run of words that the translation says twice in a row, unless another text does so too."""
    for size in range(_LONGEST, 0, -1):
        doubled = [_doubled(words, size) for words in (said, *others)]
        if own := [run for run in doubled[0] if not any(run in other for other in doubled[1:])]:
            return own[0]
    return ()


def _doubled(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    runs = [tuple(words[start : start + size]) for start in range(len(words) - size + 1)]
    return [
        run
        for run, next_run in zip(runs, runs[size:], strict=False)
        if run == next_run and any(w[0].isalnum() for w in run)
    ]
