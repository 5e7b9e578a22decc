"""Files of one JSON object a line, which a run may be writing to while they are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vitrail.storage import whole_lines


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Every complete line; half a line at the end is still being written, and is left out."""
    return [json.loads(line) for line in whole_lines(path) if line]
