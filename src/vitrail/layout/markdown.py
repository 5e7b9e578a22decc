"""Markdown: the sentences of paragraphs, headings, lists and tables. Code, addresses and HTML stay as they are."""

from __future__ import annotations

import re

from vitrail.layout.document import Pieces, Slot, paragraph
from vitrail.layout.marks import Mark, Running

_NEWLINE = re.compile(r"\r\n?|\n")  # what the parser breaks lines at
_INLINE = re.compile(
    r"(?P<atom>(`+)(?!`).+?(?<!`)\2(?!`)|<[^<>\s][^<>]*>|!\[[^\[\]]*\]\([^()\s]*(?:\s\"[^\"]*\")?\)|\\[!-/:-@\[-`{-~])"
    r"|(?P<close>\]\([^()\s]*(?:\s\"[^\"]*\")?\)|\]\[[^\[\]]*\])"
    r"|(?P<open>\[)"
    r"|(?P<stars>\*{1,3}|_{1,3}|~~)"
)


def read_markdown(text: str, language: str | None) -> Pieces:
    """The sentences of a Markdown text."""
    from markdown_it import MarkdownIt

    starts = [0, *(found.end() for found in _NEWLINE.finditer(text)), len(text)]
    pieces: list[str | Slot] = []
    at = 0
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        if token.type != "inline" or token.map is None:
            continue
        end = starts[min(token.map[1], len(starts) - 1)]
        words, breaks, begins = "", [], None
        for line in token.content.split("\n"):
            found = text.find(line, max(at, starts[token.map[0]]), end)
            if found < 0:
                break  # written in another way than it is read: the rest stays as it is
            if begins is None:
                begins = found
            else:  # what stands between two lines of a paragraph: a line break, and what its lines begin with
                breaks.append(Mark(len(words), text[at:found], covers=1))
                words += " "
            if begins == found:
                pieces.append(text[at:found])
            words += line
            at = found + len(line)
        pieces += _sentences(words, breaks, language)
    return Pieces(tuple(piece for piece in (*pieces, text[at:]) if piece))


def _sentences(content: str, breaks: list[Mark], language: str | None) -> list[str | Slot]:
    """The sentences of a paragraph, with its emphasis, links, code and line breaks as marks."""
    running = Running()
    waiting = list(breaks)
    at = 0
    is_open: set[str] = set()

    def add(end: int) -> None:
        nonlocal at
        while waiting and waiting[0].at < end:
            one = waiting.pop(0)
            if one.at >= at:  # else it is inside code, which is kept on one line
                running.add(content[at : one.at])
                running.line_break(one.markup)
                at = one.at + 1
        running.add(content[at:end])
        at = end

    for found in _INLINE.finditer(content):
        sign, after = found[0], content[found.end() : found.end() + 1]
        add(found.start())
        if found["atom"] is not None:
            running.atom(sign)
        elif found["stars"] is None:
            running.tag(sign, opens=found["open"] is not None)
        elif sign in is_open or after.strip():
            if sign[0] == "_" and running.words[-1:].isalnum() and after.isalnum():
                continue  # snake_case: `at` is still before it, so it becomes part of the words
            running.tag(sign, opens=sign not in is_open)
            is_open ^= {sign}
        else:
            continue  # a star that nothing follows is no emphasis
        at = found.end()
    add(len(content))
    return paragraph(running.words, running.marks, language)
