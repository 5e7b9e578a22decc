"""Files with one JSON object per line. A run may still be appending to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vitrail.documents import parse_json
from vitrail.storage import whole_lines


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read every complete line; a ValueError if one is not a JSON object.

    A partial last line is still being written and is skipped.
    """
    lines = [parse_json(line) for line in whole_lines(path) if line]
    if not all(isinstance(line, dict) for line in lines):
        raise ValueError("a line is not a JSON object")
    return lines
