"""Files of one JSON object a line, which a run may be writing to while they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vitrail.documents import parse_json
from vitrail.storage import whole_lines


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Every complete line; half a line at the end is still being written, and is left out.

    A ValueError where a line is something else.
    """
    lines = [parse_json(line) for line in whole_lines(path) if line]
    if not all(isinstance(line, dict) for line in lines):
        raise ValueError("a line is no JSON object")
    return lines
