"""The kinds of text that can be translated as a whole, by the ending of their file's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vitrail.errors import DataError, did_you_mean
from vitrail.layout.catalogue import read_catalogue
from vitrail.layout.document import Document
from vitrail.layout.html import read_html
from vitrail.layout.markdown import read_markdown
from vitrail.layout.plain import read_plain
from vitrail.layout.subtitles import read_subtitles


@dataclass(frozen=True)
class Kind:
    """A kind of text: how it is taken apart, and what its files are called."""

    read: Callable[[str, str | None], Document]
    endings: tuple[str, ...]


KINDS = {
    "text": Kind(read_plain, (".txt", "")),
    "html": Kind(read_html, (".html", ".htm", ".xhtml")),
    "markdown": Kind(read_markdown, (".md", ".markdown")),
    "srt": Kind(read_subtitles, (".srt",)),
    "po": Kind(read_catalogue, (".po", ".pot")),
}


def read_document(text: str, kind: str = "text", *, language: str | None = None) -> Document:
    """Take a text apart. `language` is the one it is written in, whose rules for sentences are used."""
    if kind not in KINDS:
        raise DataError(
            f"'{kind}' is no kind of text that can be taken apart",
            where="the format",
            fix=did_you_mean(kind, KINDS) or f"choose from {', '.join(KINDS)}",
        )
    return KINDS[kind].read(text, language)


def kind_of_file(path: Path) -> str:
    """The kind of text in a file, by its name. One without a known ending is plain text."""
    ending = path.suffix.lower()
    return next((name for name, kind in KINDS.items() if ending in kind.endings), "text")
