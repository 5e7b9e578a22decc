"""Lines that hold more than the text to translate: which part is the text, and where its translation goes.

The rest of a line is kept byte for byte, so that nothing is lost, whatever it holds. A column's translation becomes a
new last column; a JSON field's becomes the object's last field, `translation`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vitrail.data.fields import column_index, field_text, is_column, is_json_lines, is_tsv, read_object
from vitrail.errors import DataError

TRANSLATION = "translation"  # the field that a JSON object gets

_FIX = "give another --field"


class Rows(Protocol):
    """How a line is taken apart and put together. An empty line stays empty."""

    takes_objects: bool  # whether a translation may be more than text, with its score and tokens

    def text(self, line: str, where: str) -> str:
        """The text to translate."""
        ...

    def joined(self, line: str, translation: str | dict[str, Any]) -> str:
        """The line to write."""
        ...


@dataclass(frozen=True)
class Whole:
    """The whole line is the text, and its translation replaces it."""

    takes_objects = True

    def text(self, line: str, where: str) -> str:
        """The line."""
        return line

    def joined(self, line: str, translation: str | dict[str, Any]) -> str:
        """The translation."""
        return translation if isinstance(translation, str) else json.dumps(translation, ensure_ascii=False)


@dataclass(frozen=True)
class Column:
    """A column of a tab-separated line."""

    index: int
    takes_objects = False

    def text(self, line: str, where: str) -> str:
        """The column's text."""
        columns = line.split("\t")
        if not line:
            return ""
        if len(columns) <= self.index:
            raise DataError(
                f"there is no column {self.index + 1}: the line has {len(columns)} tab-separated columns",
                where=where,
                fix=f"correct the line, or {_FIX}, counted from 1",
            )
        return columns[self.index]

    def joined(self, line: str, translation: str | dict[str, Any]) -> str:
        """The line with one column more."""
        assert isinstance(translation, str)
        flat = translation.replace("\t", " ")
        return f"{line}\t{flat}" if line else ""


@dataclass(frozen=True)
class Field:
    """A field of a JSON object; dots reach into nested objects."""

    name: str
    takes_objects = True

    def text(self, line: str, where: str) -> str:
        """The field's text."""
        if not line:
            return ""
        table = read_object(line, where)
        found = field_text(table, self.name, where, fix=_FIX)
        if found is None:
            raise DataError(f"the field '{self.name}' is not valid Unicode", where=where, fix="correct its escapes")
        if TRANSLATION in table:
            raise DataError(
                f"the object already has a field '{TRANSLATION}', which this would hide", where=where, fix="rename it"
            )
        return found

    def joined(self, line: str, translation: str | dict[str, Any]) -> str:
        """The line with one field more, before its closing brace."""
        if not line:
            return ""
        end = line.rindex("}")
        return f'{line[:end]}, "{TRANSLATION}": {json.dumps(translation, ensure_ascii=False)}{line[end:]}'


def rows_of(field: str | None, path: Path | None) -> Rows:
    """The rows of a file, or of standard input: its name decides between TSV and JSON, or else the field does."""
    if field is None:
        return Whole()
    if path is not None and is_json_lines(path):
        return Field(field)
    if is_column(field) or (path is not None and is_tsv(path)):
        return Column(column_index(field, f"--field, for {path}"))
    return Field(field)


def field_to_suggest(line: str) -> str | None:
    """If the line is not one text but a row, the longest of its fields."""
    if line.startswith("{") and line.rstrip().endswith("}"):
        try:
            table = json.loads(line)
        except (ValueError, RecursionError):
            return None
        texts = {name: value for name, value in table.items() if isinstance(value, str)}
        return max(texts, key=lambda name: len(texts[name]), default=None)
    if "\t" in line.strip():
        columns = line.split("\t")
        return str(columns.index(max(columns, key=len)) + 1)
    return None
