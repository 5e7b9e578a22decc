"""HTML: the sentences between the tags, with the tags inside them. Everything else stays as it is, to the letter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import escape, unescape

from vitrail.layout.document import Pieces, Slot, paragraph
from vitrail.layout.marks import Mark, Running

_INLINE_NAMES = """
    a abbr acronym b bdi bdo big cite del dfn em font i img ins label mark q s small span strike strong sub sup svg tt u
    wbr code kbd samp var
"""
_INLINE = frozenset(_INLINE_NAMES.split())
_VOID = frozenset({"img", "wbr"})
_RAW = frozenset({"script", "style", "textarea"})  # there are no tags in these
_NOT_TEXT = _RAW | {"code", "kbd", "samp", "var", "svg", "math", "pre", "template"}  # kept with its content
_NAME = re.compile(r"</?([a-zA-Z][^\s/>]*)")
_NO = re.compile(r"\stranslate\s*=\s*[\"']?no\b|\sclass\s*=\s*[\"'][^\"']*\bnotranslate\b", re.IGNORECASE)
_QUOTE_OR_END = re.compile("[\"'>]")
_BLANKS = re.compile(r"[ \t\r\n\f]+")


def read_html(text: str, language: str | None) -> Pieces:
    """The sentences of a page or a part of one."""
    return read_tagged(text, language, read=unescape, write=_write)


def read_tagged(text: str, language: str | None, *, read: Callable[[str], str], write: Callable[[str], str]) -> Pieces:
    """The same for any text with tags. `read` and `write` say how characters such as "&" are spelled in it."""
    pieces: list[str | Slot] = []
    run: list[tuple[str, Mark | None]] = []  # text and inline tags since the last tag that ends a paragraph

    def end_run() -> None:
        pieces.extend(_run(run, language, read, write))
        run.clear()

    for is_tag, raw, name in _tokens(text):
        if not is_tag:
            run.append((raw, None))
        elif name in _INLINE:
            run.append(("", Mark(0, raw, opens=not raw.startswith("</") and name not in _VOID)))
        else:
            end_run()
            pieces.append(raw)
    end_run()
    return Pieces(tuple(pieces), write)


def _run(
    run: list[tuple[str, Mark | None]],
    language: str | None,
    read: Callable[[str], str],
    write: Callable[[str], str],
) -> list[str | Slot]:
    """The pieces of text between two tags that end paragraphs."""
    running = Running()
    for raw, mark in run:
        if mark is None:
            running.add(_BLANKS.sub(" ", read(raw)))
        elif _is_atom(mark.markup):
            running.atom(mark.markup)
        else:
            running.tag(mark.markup, opens=mark.opens)
    found = paragraph(running.words, running.marks, language, write)
    if any(isinstance(piece, Slot) for piece in found):
        before, after = _edges(run)
        if found and isinstance(found[0], str) and found[0] == " ":
            found[0] = before or " "
        if found and isinstance(found[-1], str) and found[-1] == " ":
            found[-1] = after or " "
        return found
    return [mark.markup if mark is not None else raw for raw, mark in run]  # nothing to translate


def _is_atom(markup: str) -> bool:
    """Whether this stands for a word: an element with its content, or a picture."""
    name = _NAME.match(markup)
    return name is not None and name[1].lower() != "wbr" and (name[1].lower() in _VOID or "</" in markup[1:])


def _edges(run: list[tuple[str, Mark | None]]) -> tuple[str, str]:
    """The blanks before and after, as they were: line breaks and indentation."""
    first, last = run[0][0], run[-1][0]
    return first[: len(first) - len(first.lstrip(" \t\r\n\f"))], last[len(last.rstrip(" \t\r\n\f")) :]


def _write(words: str) -> str:
    return escape(words, quote=False)


def _tokens(text: str) -> Iterator[tuple[bool, str, str]]:
    """The text's tags, comments and the text between them: (is it a tag, as it was written, its name).

    An element whose content is not to be translated is one tag, from its beginning to its end.
    """
    at = start = 0  # `start`: of text not yet given out
    while True:
        at = text.find("<", at)
        if at < 0:
            break
        end = _end_of_tag(text, at)
        if end == at:  # a "<" that begins no tag
            at += 1
            continue
        name_of_it = _NAME.match(text, at)
        name = name_of_it[1].lower() if name_of_it else ""
        if start < at:
            yield False, text[start:at], ""
        raw = text[at:end]
        if not raw.startswith("</") and not raw.endswith("/>") and (name in _NOT_TEXT or _NO.search(raw)):
            end = _end_of_element(text, end, name)
            yield True, text[at:end], name if name in _INLINE else "div"
        else:
            yield True, raw, name
        at = start = end
    if start < len(text):
        yield False, text[start:], ""


def _end_of_tag(text: str, at: int) -> int:
    """Where the tag or comment that begins here ends; here, if none begins. One without an end takes all the rest."""
    if text.startswith("<!--", at):
        end = text.find("-->", at + 4)
        return len(text) if end < 0 else end + 3
    if not (text.startswith(("<!", "<?"), at) or _NAME.match(text, at)):
        return at
    inside = at + 1
    while found := _QUOTE_OR_END.search(text, inside):
        if found[0] == ">":
            return found.end()
        closing = text.find(found[0], found.end())
        if closing < 0:
            break
        inside = closing + 1
    return len(text)


def _end_of_element(text: str, at: int, name: str) -> int:
    """Where the element ends whose opening tag ends here; elements of the same name may be inside it."""
    depth = 1
    for found in re.compile(rf"<(/?){re.escape(name)}(?=[\s/>])", re.IGNORECASE).finditer(text, at):
        depth += -1 if found[1] else (name not in _RAW)
        if depth == 0:
            return max(_end_of_tag(text, found.start()), found.end())
    return len(text)
