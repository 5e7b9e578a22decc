"""A document: pieces that stay as they are, and sentences with their marks, which are translated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from vitrail.layout.marks import Mark, place
from vitrail.layout.sentences import sentence_spans
from vitrail.text import is_translatable


class Document(Protocol):
    """A text of some kind, taken apart."""

    @property
    def sentences(self) -> list[str]:
        """The sentences to translate, in order."""

    def filled(self, translations: Sequence[str]) -> str:
        """The text with a translation in the place of each sentence."""


@dataclass(frozen=True)
class Slot:
    """The place of a sentence, with what is inside it and not translated."""

    text: str
    marks: tuple[Mark, ...] = ()


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True)
class Pieces:
    """A document as one row of pieces: text to keep, and the places of sentences."""

    pieces: tuple[str | Slot, ...]
    write: Callable[[str], str] = _as_it_is  # how the words of a translation are spelled in this kind of text

    @property
    def sentences(self) -> list[str]:
        """The sentences to translate, in order."""
        return [piece.text for piece in self.pieces if isinstance(piece, Slot)]

    def filled(self, translations: Sequence[str]) -> str:
        """The text with a translation in the place of each sentence."""
        waiting = iter(translations)
        written = [
            piece if isinstance(piece, str) else place(piece.text, piece.marks, next(waiting), self.write)
            for piece in self.pieces
        ]
        assert next(waiting, None) is None, "one translation for each sentence"
        return "".join(written)


def paragraph(
    text: str, marks: Sequence[Mark], language: str | None, write: Callable[[str], str] = _as_it_is
) -> list[str | Slot]:
    """The pieces of running text: its sentences, the spaces between them, and the marks that stand between them."""
    pieces: list[str | Slot] = []
    waiting = list(marks)
    at = 0

    def keep(end: int, *, before_next: bool) -> None:
        """Text that stays as it is, up to `end`, with the marks in it. One that opens belongs to what comes next."""
        nonlocal at
        while waiting and (waiting[0].at < end or (waiting[0].at == end and (before_next or not waiting[0].opens))):
            mark = waiting.pop(0)
            pieces.append(write(text[at : mark.at]))
            pieces.append(mark.markup)
            at = mark.at + mark.covers
        pieces.append(write(text[at:end]))
        at = max(at, end)

    for start, end in sentence_spans(text, language):
        keep(start, before_next=True)
        sentence = text[start:end]
        if not is_translatable(sentence):
            continue  # it is kept with what comes next
        inside = [mark for mark in waiting if mark.at < end]
        del waiting[: len(inside)]
        pieces.append(Slot(sentence, tuple(Mark(m.at - start, m.markup, m.opens, m.covers) for m in inside)))
        at = end
        keep(end, before_next=False)
    keep(len(text), before_next=True)
    return [piece for piece in pieces if piece]
