"""Plain text: a line break ends a sentence, unless the lines were broken to fit a page."""

from __future__ import annotations

import re

from vitrail.layout.document import Pieces, Slot, paragraph
from vitrail.layout.marks import Mark

WRAPPED = 40  # characters: a shorter line was ended on purpose
_BREAK = re.compile(r"\r\n|[\n\r\v\f\x85\u2028\u2029]")
_INDENT = (" ", "\t")
_ENDS = re.compile(r"[.!?:;…。！？；：»”\"')\]]$")
_BULLET = re.compile(r"\s*(?:[-*+•‣–—]|\d{1,3}[.)])[ \t]+")  # of a list
_GOES_ON = re.compile(r"[^\W\d_]|[«“\"'(]")  # what a line that continues another may begin with


def read_plain(text: str, language: str | None) -> Pieces:
    """The sentences of a plain text, with every line break and space between them."""
    pieces: list[str | Slot] = []
    start = 0
    inside: list[Mark] = []  # breaks within the paragraph that begins at `start`
    line_start = 0

    def end_paragraph(end: int) -> None:
        bullet = _BULLET.match(text, start, end)
        begins = bullet.end() if bullet else start
        marks = [Mark(mark.at - (begins - start), mark.markup, covers=mark.covers) for mark in inside]
        pieces.append(text[start:begins])
        pieces.extend(paragraph(_without_breaks(text[begins:end], marks), marks, language))

    for found in _BREAK.finditer(text):
        line, ends, begins = text[line_start : found.start()], found.start(), found.end()
        line_start = begins
        while text[begins : begins + 1] in _INDENT:
            begins += 1
        if len(line.strip()) >= WRAPPED and not _ENDS.search(line.rstrip()) and _GOES_ON.match(text, begins):
            ends -= len(line) - len(line.rstrip())
            inside.append(Mark(ends - start, text[ends:begins], covers=begins - ends))
            continue
        end_paragraph(ends)
        pieces.append(found[0])
        start, inside = found.end(), []
    end_paragraph(len(text))
    return Pieces(tuple(piece for piece in pieces if piece))


def _without_breaks(text: str, breaks: list[Mark]) -> str:
    """The same with spaces for the breaks inside it, character by character."""
    for one in breaks:
        text = text[: one.at] + " " * one.covers + text[one.at + one.covers :]
    return text
