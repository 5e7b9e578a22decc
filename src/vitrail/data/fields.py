"""One text in a row of several: a column of a tab-separated line, or a field of a JSON object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vitrail.data.reading import bare_suffix
from vitrail.errors import DataError, did_you_mean

_TSV, _JSON_LINES = (".tsv", ".tab"), (".jsonl", ".ndjson", ".json")


def is_tsv(path: Path) -> bool:
    """Whether the file's name says that it is tab-separated."""
    return bare_suffix(path) in _TSV


def is_json_lines(path: Path) -> bool:
    """Whether the file's name says that it holds one JSON object per line."""
    return bare_suffix(path) in _JSON_LINES


def is_column(field: str) -> bool:
    """Whether a field is the number of a column."""
    return field.isascii() and field.isdigit() and len(field) < 10 and int(field) > 0


def column_index(field: str, where: str) -> int:
    """The index of a column that the user counts from 1."""
    if not is_column(field):
        raise DataError(f"'{field}' is not a column number", where=where, fix="count columns from 1")
    return int(field) - 1


def read_object(line: str, where: str) -> Any:
    """The JSON value of a line."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"this line is not JSON: {error}", where=where, fix="write one JSON object per line") from None


def field_text(table: Any, name: str, where: str, *, fix: str) -> str | None:
    """The text under a key; dots reach into nested objects. None if the text escapes half a surrogate pair."""
    value: Any = table
    for part in [name] if isinstance(table, dict) and name in table else name.split("."):
        if not isinstance(value, dict) or part not in value:
            known = list(map(str, value)) if isinstance(value, dict) else []
            there = f"the fields are: {', '.join(known)}" if known else f"this is not an object: {value!r:.40}"
            raise DataError(f"there is no field '{name}'; {there}", where=where, fix=did_you_mean(part, known) or fix)
        value = value[part]
    if not isinstance(value, str):
        raise DataError(f"the field '{name}' is not text: {value!r:.40}", where=where, fix="make it a string")
    return value if value.isascii() or _is_unicode(value) else None


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
