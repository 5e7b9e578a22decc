"""Subtitles (.srt): the words of each are translated; its number, times and number of lines stay."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vitrail.layout.document import Pieces
from vitrail.layout.html import read_tagged

_TIMES = re.compile(r"[ \t]*\d+:\d\d:\d\d[,.]\d+[ \t]*-->")
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|$)")


@dataclass(frozen=True)
class _Subtitle:
    """The words of one subtitle, on one line, and how many lines they had."""

    words: Pieces
    lines: int
    newline: str


@dataclass(frozen=True)
class Subtitles:
    """A file of subtitles."""

    pieces: tuple[str | _Subtitle, ...]

    @property
    def sentences(self) -> list[str]:
        """The sentences to translate, in order."""
        return [sentence for piece in self.pieces if isinstance(piece, _Subtitle) for sentence in piece.words.sentences]

    def filled(self, translations: Sequence[str]) -> str:
        """The file with a translation in the place of each sentence."""
        written = []
        at = 0
        for piece in self.pieces:
            if isinstance(piece, str):
                written.append(piece)
                continue
            count = len(piece.words.sentences)
            words = piece.words.filled(translations[at : at + count])
            written.append(_on_lines(words, piece.lines, piece.newline))
            at += count
        return "".join(written)


def read_subtitles(text: str, language: str | None) -> Subtitles:
    """The words of a file of subtitles. Tags such as <i> are kept."""
    pieces: list[str | _Subtitle] = []
    words: list[str] | None = None  # the lines of a subtitle; None outside of one

    def end_words() -> None:
        if words:
            ending = re.search(r"[\r\n]*$", words[-1])
            newline = re.search(r"\r?\n|\r", "".join(words))
            one_line = " ".join(line.strip() for line in words)
            tagged = read_tagged(one_line, language, read=str, write=str)
            pieces.append(_Subtitle(tagged, len(words), newline[0] if newline else "\n"))
            pieces.append(ending[0] if ending else "")

    for line in _LINES.findall(text):
        if _TIMES.match(line):
            words = []
            pieces.append(line)
        elif words is not None and line.strip():
            words.append(line)
        else:
            end_words()
            words = None
            pieces.append(line)
    end_words()
    return Subtitles(tuple(piece for piece in pieces if piece))


def _on_lines(words: str, lines: int, newline: str) -> str:
    """The words on so many lines, of about the same length."""
    parts = words.split(" ")
    written: list[str] = []
    for left in range(min(lines, len(parts)), 0, -1):
        room = len(" ".join(parts)) / left
        line = [parts.pop(0)]
        while parts and len(parts) >= left and (left == 1 or len(" ".join([*line, parts[0]])) <= room + 1):
            line.append(parts.pop(0))
        written.append(" ".join(line))
    return newline.join(written)
