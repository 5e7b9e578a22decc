"""What is inside a sentence and not translated, such as a tag, and where it goes in the translation.

A mark keeps its place among the words in proportion: one in the middle of the sentence stands in the middle of the
translation. Tags around words that the translation contains too, such as names and numbers, are put around these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

# Words and signs; a character of a script without spaces counts as a word.
_WORDS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class Mark:
    """Markup between two characters of a sentence."""

    at: int  # how many characters of the sentence come before it
    markup: str
    opens: bool = False  # it belongs to the words after it, like an opening tag; otherwise to those before it
    covers: int = 0  # characters of the sentence that it stands for: a line break is read as a space


class Running:
    """Running text while it is read: its words, and the marks between them."""

    def __init__(self) -> None:
        self.words = ""
        self.marks: list[Mark] = []
        self._skips_space = False

    def add(self, text: str) -> None:
        """Words to translate."""
        if self._skips_space and text.startswith(" "):
            last = self.marks.pop()
            self.marks.append(Mark(last.at, f"{last.markup} ", opens=True))
            text = text[1:]
        elif self._skips_space and text and not text[0].isalnum() and self.words:  # "." follows: the other space
            self.words = self.words[:-1]
            last = self.marks.pop()
            self.marks.append(Mark(len(self.words), f" {last.markup}"))
        self._skips_space = self._skips_space and not text
        self.words += text

    def tag(self, markup: str, *, opens: bool) -> None:
        """A mark around words."""
        self._skips_space = False
        self.marks.append(Mark(len(self.words), markup, opens))

    def atom(self, markup: str) -> None:
        """A mark that stands for a word, such as code: one of the two spaces beside it goes along with it."""
        self._skips_space = self.words.endswith(" ") or not self.words
        self.marks.append(Mark(len(self.words), markup))

    def line_break(self, markup: str) -> None:
        """A line break inside a sentence, which is read as a space."""
        self._skips_space = False
        self.marks.append(Mark(len(self.words), markup, covers=1))
        self.words += " "


def place(source: str, marks: Sequence[Mark], translation: str, write: Callable[[str], str]) -> str:
    """The translation with the marks of its source in it."""
    if not marks:
        return write(translation)
    theirs, ours = list(_WORDS.finditer(source)), list(_WORDS.finditer(translation))
    kept = _kept_words(source, marks, translation)
    written: list[str] = []
    at = 0
    for number, mark in enumerate(marks):
        if number in kept:
            place_of_it = kept[number]
        else:
            before = sum(word.start() < mark.at for word in theirs)
            share = round(before * len(ours) / len(theirs)) if theirs else 0
            if mark.opens or mark.covers:
                place_of_it = ours[share].start() if share < len(ours) else len(translation)
            else:
                place_of_it = ours[share - 1].end() if share else 0
        place_of_it = max(place_of_it, at)
        before_it = translation[at:place_of_it]
        if mark.covers and place_of_it:
            before_it = before_it.rstrip()  # the line break stands for this space
        written += [write(before_it), mark.markup]
        at = place_of_it
    return "".join([*written, write(translation[at:])])


def _kept_words(source: str, marks: Sequence[Mark], translation: str) -> dict[int, int]:
    """Where marks go that enclose words which the translation contains too, exactly once. By the mark's number."""
    found: dict[int, int] = {}
    for number, (first, second) in enumerate(pairwise(marks)):
        words = source[first.at : second.at].strip()
        if first.opens and not second.opens and words and translation.count(words) == 1:
            start = translation.index(words)
            end = start + len(words)
            if not (_inside_word(translation, start) or _inside_word(translation, end)):
                found |= {number: start, number + 1: end}
    return found if sorted(found.values()) == list(found.values()) else {}


def _inside_word(text: str, at: int) -> bool:
    return text[at - 1 : at].isalnum() and text[at : at + 1].isalnum()
