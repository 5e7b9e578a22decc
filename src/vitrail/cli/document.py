"""Translate a text as a whole: its sentences, between its own line breaks, spaces and tags."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from vitrail.cli.asked import Asked
    from vitrail.config import DecodeConfig
    from vitrail.translation import TranslatedText
    from vitrail.translator import Translator


def read_text(text: str | None, path: Path | None) -> tuple[str, str]:
    """The text to translate and its kind, which the name of its file tells."""
    from vitrail.data.reading import decode_whole, read_whole
    from vitrail.layout import kind_of_file

    if text is not None:
        return text, "text"
    if path is not None:
        return read_whole(path), kind_of_file(path)
    return decode_whole(sys.stdin.buffer.read(), "standard input"), "text"


def translate_document(
    translator: Translator, text: str, kind: str, asked: Asked, decode: DecodeConfig, *, shows_progress: bool
) -> TranslatedText:
    """Translate a text, with a progress bar if that is wanted."""
    from vitrail.cli.progress import LineProgress

    with LineProgress(0, None, is_shown=shows_progress) as progress:

        def report(what: str, done: int, total: int | None) -> None:
            progress.translated(done)

        translated = translator.translate_text(
            text,
            kind=kind,
            to=asked.to,
            decode=decode,
            glossary=asked.glossary,
            restrict=asked.restrict,
            report=report,
        )
        progress.finished()
    unknown = {word for sentence in translated.sentences for word in sentence.unknown}
    if unknown:
        names = ", ".join(f"'{word}'" for word in sorted(unknown))
        print(f"warning: sentences with words that the model does not know stay as they are: {names}", file=sys.stderr)
    missing = dict.fromkeys(term for sentence in translated.sentences for term in sentence.missing)
    if missing:
        names = ", ".join(f"'{term}'" for term in missing)
        print(f"warning: there was no room for the glossary's terms for {names} in some sentences", file=sys.stderr)
    return translated


def write_document(out: TextIO, translated: TranslatedText, *, as_json: bool, is_file: bool) -> None:
    """Write the translated text as it is, or as one JSON object with its sentences.

    What was a file ends as the file does; a terminal, and a text of the command line, get a whole line.
    """
    if as_json:
        print(json.dumps(translated.to_dict(), ensure_ascii=False), file=out)
    else:
        out.write(translated.text)
        if not translated.text.endswith("\n") and (out.isatty() or not is_file):
            out.write("\n")
