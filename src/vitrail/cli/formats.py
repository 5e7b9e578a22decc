"""The --format option that several commands share."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """How results are printed."""

    TEXT = "text"
    JSON = "json"
