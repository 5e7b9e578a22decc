"""Files with one JSON object per line. A run may still be appending to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vitrail.storage import whole_lines


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read every complete line. A partial last line is still being written and is skipped."""
    return [json.loads(line) for line in whole_lines(path) if line]
