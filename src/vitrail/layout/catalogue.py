"""Message catalogues of programs (.po): every message that has no translation yet, or one marked as fuzzy, gets one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vitrail.errors import DataError
from vitrail.layout.document import Pieces
from vitrail.layout.plain import read_plain

if TYPE_CHECKING:
    import polib


@dataclass(frozen=True)
class Catalogue:
    """A catalogue, with the messages to translate: each is an entry and a text of it."""

    file: polib.POFile
    messages: tuple[tuple[polib.POEntry, Pieces], ...]

    @property
    def sentences(self) -> list[str]:
        """The sentences to translate, in order."""
        return [sentence for _, message in self.messages for sentence in message.sentences]

    def filled(self, translations: Sequence[str]) -> str:
        """The catalogue with the translations; each is marked as fuzzy, so that a person looks at it."""
        at = 0
        for entry, message in self.messages:
            count = len(message.sentences)
            written = message.filled(translations[at : at + count])
            at += count
            if entry.msgid_plural:
                entry.msgstr_plural = dict.fromkeys(entry.msgstr_plural or {0: "", 1: ""}, written)
            else:
                entry.msgstr = written
            if not entry.fuzzy:
                entry.flags.append("fuzzy")
        return f"{self.file}"


def read_catalogue(text: str, language: str | None) -> Catalogue:
    """The messages of a catalogue that wait for a translation. Of a plural, the plural form is translated."""
    import polib

    if "\n" not in text:
        text += "\n"  # the library takes one line for the name of a file
    try:
        file = polib.pofile(text)
    except (OSError, ValueError, UnicodeError) as error:
        raise DataError(
            f"this is not a message catalogue: {error}",
            where="the text",
            fix="give a .po file, or choose another format",
        ) from None
    waiting = [entry for entry in file if not entry.translated() and not entry.obsolete]
    return Catalogue(file, tuple((entry, read_plain(entry.msgid_plural or entry.msgid, language)) for entry in waiting))
